// SPDX-License-Identifier: MIT
// The flame graph: an icicle of the range's calls. A click zooms, Esc leaves; arrows walk; a shifted click hides.
// The zoom in the state is "123": the box that node 123 of the model belongs to; inverted "123^4": the box at depth 4
// on the stack of node 123. A hidden tree beside the canvas says the same to screen readers.
import { boxSums, boxTitle, callTree, nodeName, orderChildren, place, stackText } from "./calls.js";
import { fill, h, watchWidth } from "./dom.js";
import { selfOf, shownMetric } from "./figures.js";
import { icicle, ROW } from "./icicle.js";
import { classesOf, NONE, theme, wayOf } from "./palette.js";
import { copy, show, tester } from "./text.js";
import { count, METRICS, share } from "./units.js";

const LOWEST = 420; // px of the drawing, and what the window has beside it: as the style sheet says
const ABOVE = 210;
const PRINTED = 50; // rows on paper
const MOST_ITEMS = 40; // of one level, in the hidden tree
const SAID = 1500; // ms that a message stays
const SETTLED = 160; // ms after the last change, until the hidden tree follows

// What boxes are sorted by, the same for each range, so that they stay where they are while one is dragged.
const ORDER = { live: "peak", liveBlocks: "peakBlocks", kept: "allocated", keptBlocks: "calls" };

export function flame(model, state) {
	let drawn = null; // what the last update() drew
	let over = -1,
		cursor = 0,
		timer = 0,
		scrolled = 0;
	const canvas = h("canvas", { "aria-hidden": "true" });
	const drawing = icicle(canvas);
	const room = h("div", { class: "room" }, canvas);
	const tree = h("div", { class: "unseen", role: "presentation" });
	const scroll = h(
		"div",
		{
			class: "scroll",
			tabindex: 0,
			role: "tree",
			"aria-label":
				"Flame graph. Arrows walk; Enter zooms, Backspace goes one call out, Escape all the way, " +
				"and then clears the selection; Space selects, C copies the stack, H hides the function.",
			on: { scroll: onScroll, keydown: onKey, focus: () => paint(), blur: () => paint() },
		},
		room,
		tree,
	);
	const tip = h("div", { class: "tip", hidden: true });
	const crumbs = h("nav", { class: "crumbs", "aria-label": "Zoom" });
	const note = h("p", { class: "note" });
	const legend = h("ul", { class: "legend", "aria-label": "Colours", style: { "list-style": "none" } });
	const chips = h("div", { class: "hidden-list" });
	const controls = tools(state);
	const said = h("span", { class: "soft", role: "status" });
	controls.element.append(said);
	const stage = h("div", { class: "flame" }, scroll, tip);
	const element = h(
		"section",
		{ "aria-labelledby": "flame-title" },
		h("h2", { class: "unseen", id: "flame-title" }, "Flame graph"),
		controls.element,
		chips,
		note,
		crumbs,
		stage,
		legend,
	);

	canvas.addEventListener("pointermove", onMove);
	canvas.addEventListener("pointerleave", () => {
		hover(-1);
	});
	canvas.addEventListener("click", onClick);
	canvas.addEventListener("contextmenu", onMenu);

	const wide = watchWidth(scroll, () => drawn && update());

	function onScroll() {
		scrolled = scroll.scrollTop;
		paint();
	}

	function update() {
		const now = state.get(),
			shown = shownMetric(now),
			from = now.from,
			until = now.until;
		const boxes = callTree(model, now),
			values = selfOf(model, shown.id, from, until);
		const order = ORDER[shown.id] || shown.id;
		if (boxes.order !== order) {
			orderChildren(boxes, boxSums(boxes, selfOf(model, order, 0, model.bucketCount)).all);
			boxes.order = order;
		}
		const sums = boxSums(boxes, values),
			zoom = zoomed(boxes, now);
		const classes = classes_of(boxes, values, now.colour, shown.id, from, until);
		const search = searched(boxes, now.search);
		if (drawn && drawn.boxes !== boxes) cursor = 0;
		drawn = {
			now,
			boxes,
			values,
			sums,
			zoom,
			classes,
			search,
			shown,
			width: Math.max(wide(), 200),
			colours: theme(element),
			way: wayOf(model, now.colour),
		};
		drawn.chosen = now.selected === null ? -1 : chosenBox(boxes, now);
		if (cursor === 0 || !isBelow(boxes, cursor, zoom)) cursor = zoom;
		drawn.rows = drawing.arrange({ tree: boxes, all: sums.all, zoom, width: drawn.width });
		drawn.matched = matchedSum();
		room.style.setProperty("height", `${drawn.rows * ROW}px`);
		controls.update(now);
		tellZoom();
		tellLegend();
		tellHidden();
		paint();
		clearTimeout(timer);
		timer = setTimeout(tellTree, SETTLED);
	}

	let classesKept = { key: "" };
	function classes_of(boxes, values, colour, ...what) {
		const key = `${colour} ${wayOf(model, colour).dominant ? what.join(" ") : ""}`;
		if (classesKept.key !== key || classesKept.boxes !== boxes)
			classesKept = { key, boxes, classes: classesOf(model, boxes, values, colour) };
		return classesKept.classes;
	}

	// On paper: the first rows, all of them in sight.
	function paint() {
		if (!drawn) return;
		const all = drawn.rows * ROW;
		const printed = "print" in document.documentElement.dataset;
		const sight = printed
			? Math.min(all, PRINTED * ROW)
			: Math.min(all, Math.max(LOWEST, window.innerHeight - ABOVE));
		drawing.draw({
			...drawn,
			tints: drawn.boxes.group,
			top: printed ? 0 : Math.min(scrolled, Math.max(all - sight, 0)),
			height: Math.max(sight, ROW),
			ordered: drawn.way.ordered,
			nameOf: boxName,
			matched: drawn.search.matched,
			searching: drawn.search.any,
			over: document.activeElement === scroll ? cursor : over,
			zoomRow: drawn.boxes.depth[drawn.zoom],
		});
	}

	/* ---- What boxes are ---- */
	function boxName(box) {
		return boxTitle(model, drawn.boxes, box);
	}

	function zoomed(boxes, { zoom }) {
		const [text, level] = zoom.split("^"),
			n = Number.parseInt(text, 10);
		if (!(n >= 0 && n < model.nodeCount)) return 0;
		let box = boxes.of[n];
		if (level !== undefined) while (box > 0 && boxes.depth[box] > Number(level)) box = boxes.parent[box];
		return box;
	}

	function zoomTo(box) {
		const { boxes, now } = drawn;
		const zoom =
			box <= 0 ? "" : now.inverted ? `${boxes.leaf[box]}^${boxes.depth[box]}` : String(boxes.node[box]);
		state.set({ zoom, selected: box <= 0 ? now.selected : boxes.node[box] });
	}

	function chosenBox(boxes, { selected, inverted }) {
		if (!inverted) return boxes.of[selected];
		for (let b = cursor; b > 0; b = boxes.parent[b]) if (boxes.node[b] === selected) return b;
		return boxes.of[selected];
	}

	function isBelow(boxes, box, above) {
		for (let b = box; b >= 0; b = boxes.parent[b]) if (b === above) return true;
		return false;
	}

	async function copied(text) {
		said.textContent = (await copy(text)) ? "Copied" : "The browser refuses to copy";
		setTimeout(() => {
			said.textContent = "";
		}, SAID);
	}

	/* ---- Search ---- */
	let searchKept = {};
	function searched(boxes, text) {
		if (searchKept.boxes === boxes && searchKept.text === text) return searchKept;
		const matched = new Uint8Array(boxes.count),
			test = tester(text),
			known = new Map();
		if (test)
			for (let b = 1; b < boxes.count; b++) {
				const group = boxes.group[b];
				let yes = known.get(group);
				if (yes === undefined) {
					const n = boxes.node[b],
						f = model.frame[n];
					yes = test(
						`${nodeName(model, n)}\n${model.rest[n] ? "" : `${model.moduleOf(f) ?? ""}\n${model.fileOf(f) ?? ""}`}`,
					);
					known.set(group, yes);
				}
				matched[b] = yes ? 1 : 0;
			}
		return (searchKept = { boxes, text, matched, any: test !== null, folded: foundFolded(test) });
	}

	// Whether there are folded functions that would match.
	function foundFolded(test) {
		if (!test || !state.get().fold) return false;
		for (let f = 0; f < model.frameCount; f++)
			if (model.hiddenOf(f) && test(model.functionOf(f))) return true;
		return false;
	}

	// Each block once, however many functions of its stack match.
	function matchedSum() {
		const { boxes, search, sums, zoom } = drawn,
			under = new Uint8Array(boxes.count);
		let sum = 0,
			number = 0;
		if (!search.any) return null;
		under[zoom] = 2;
		for (let b = zoom; b < boxes.count; b++) {
			if (b !== zoom) under[b] = under[boxes.parent[b]];
			if (!under[b] || !search.matched[b]) continue;
			number += sums.all[b] > 0;
			if (under[b] === 2) sum += sums.all[b];
			under[b] = 1;
		}
		return { sum, number };
	}

	/* ---- What surrounds the drawing ---- */
	function tellZoom() {
		const { boxes, sums, zoom, shown, matched, now } = drawn,
			path = [];
		for (let b = zoom; b >= 0; b = boxes.parent[b]) path.unshift(b);
		const cutPath = path.length > 5 ? [path[0], -1, ...path.slice(-3)] : path;
		const figure = `${shown.unit(sums.all[zoom])}${zoom ? `, ${share(sums.all[zoom], sums.all[0])} of all` : ""}`;
		fill(
			crumbs,
			cutPath.map((b, i) =>
				b < 0
					? h("span", { class: "soft" }, "…")
					: [
							i ? h("span", { class: "soft", "aria-hidden": "true" }, "›") : null,
							h(
								"button",
								{
									class: "plain",
									type: "button",
									"aria-current": b === zoom ? "true" : null,
									on: { click: () => zoomTo(b) },
								},
								b ? show(boxName(b), 40) : "all",
							),
						],
			),
			h("span", { class: "soft" }, `${figure} – ${shown.noun}`),
			matched
				? h(
						"span",
						{ role: "status" },
						h(
							"strong",
							{},
							`“${show(now.search, 30)}”: ${shown.unit(matched.sum)}, ${share(matched.sum, sums.all[zoom])}`,
						),
						` in ${count(matched.number)} ${matched.number === 1 ? "box" : "boxes"}`,
						drawn.search.folded ? ", without folded functions" : "",
					)
				: null,
		);
		const notes = [];
		if (now.from === now.until && shown.id !== now.metric)
			notes.push("A moment is chosen: what is live then is shown.");
		if (/^kept/.test(shown.id) && !model.hasPairs)
			notes.push("This trace doesn't say which block a free frees: what was kept isn't known.");
		else if (/^kept/.test(shown.id) && !model.pairsExact(now.from, now.until))
			notes.push(
				"The borders of this range are finer than what the page knows of births and deaths: " +
					"the figures are those of the next coarser borders.",
			);
		if (sums.all[0] === 0) notes.push(`Nothing: ${shown.title.toLowerCase()} is 0 in this range.`);
		fill(note, notes.join(" "));
	}

	function tellLegend() {
		const { way, colours } = drawn,
			palette = way.ordered ? colours.steps : colours.hues;
		const entry = (colour, name) =>
			h("li", {}, h("span", { class: "swatch", style: { "--swatch": colour } }), show(name, 40));
		fill(
			legend,
			way.names.map((name, i) => entry(palette[i], name)),
			way.more > 0 ? entry(colours.other, `${count(way.more)} more`) : null,
		);
	}

	function tellHidden() {
		fill(
			chips,
			drawn.now.hidden.map((text) =>
				h(
					"span",
					{ class: "chip" },
					`hidden: ${show(text, 60)}`,
					h(
						"button",
						{
							type: "button",
							"aria-label": `Show ${show(text, 60)} again`,
							on: {
								click: () => state.set({ hidden: drawn.now.hidden.filter((t) => t !== text), zoom: "" }),
							},
						},
						"×",
					),
				),
			),
		);
	}

	/* ---- Pointer ---- */
	function boxAt(event) {
		const rect = canvas.getBoundingClientRect();
		return drawn ? drawing.at(event.clientX - rect.left, event.clientY - rect.top + scroll.scrollTop) : -1;
	}

	function onMove(event) {
		const box = event.pointerType === "touch" ? -1 : boxAt(event);
		hover(box);
		if (box >= 0) putTip(event);
	}

	function hover(box) {
		if (box === over) return;
		over = box;
		tip.hidden = box < 0;
		if (box >= 0) fill(tip, tipOf(box));
		paint();
	}

	function figures(box) {
		const { sums, shown, zoom } = drawn,
			all = sums.all[box];
		const ofZoomed = zoom && box ? `, ${share(all, sums.all[zoom])} of the zoomed` : "";
		return `${shown.unit(all)}, ${share(all, sums.all[0])} of all${ofZoomed}`;
	}

	function tipOf(box) {
		const n = drawn.boxes.node[box],
			where = n < 0 ? "" : place(model, n);
		const module = n < 0 || model.rest[n] ? "" : model.moduleOf(model.frame[n]);
		const own = drawn.sums.own[box],
			c = drawn.classes[box];
		return [
			h("strong", {}, show(boxName(box), 300)),
			where || module
				? h(
						"div",
						{ class: "soft" },
						[module, where]
							.filter(Boolean)
							.map((t) => show(t, 160))
							.join(" · "),
					)
				: null,
			h("div", {}, figures(box)),
			!drawn.now.inverted && own > 0 && own !== drawn.sums.all[box]
				? h("div", {}, `${drawn.shown.unit(own)} of its own`)
				: null,
			drawn.now.colour !== "module" && box && c !== NONE
				? h("div", { class: "soft" }, `${drawn.now.colour}: ${drawn.way.names[c]}`)
				: null,
		];
	}

	function putTip(event) {
		const rect = stage.getBoundingClientRect(),
			wide = tip.offsetWidth,
			high = tip.offsetHeight;
		const x = event.clientX - rect.left,
			y = event.clientY - rect.top;
		tip.style.setProperty("left", `${Math.max(0, Math.min(x + 14, rect.width - wide - 2))}px`);
		tip.style.setProperty(
			"top",
			`${event.clientY + high + 28 > window.innerHeight ? y - high - 12 : y + 18}px`,
		);
	}

	function onClick(event) {
		const box = boxAt(event);
		if (box < 0) return;
		cursor = box;
		hover(-1);
		if (event.shiftKey && box) hide(box);
		else zoomTo(box === drawn.zoom ? drawn.boxes.parent[box] : box);
	}

	function hide(box) {
		const { hidden } = drawn.now,
			name = boxName(box).replace(/[*?]/g, "?");
		if (!model.rest[drawn.boxes.node[box]] && !hidden.includes(name))
			state.set({ hidden: [...hidden, name], zoom: "" });
	}

	function onMenu(event) {
		const box = boxAt(event);
		if (box <= 0) return;
		event.preventDefault();
		hover(-1);
		const rect = stage.getBoundingClientRect();
		openMenu(box, event.clientX - rect.left, event.clientY - rect.top);
	}

	function openMenu(box, x, y) {
		const { boxes, now } = drawn,
			n = boxes.node[box],
			id = model.stackId(boxes.leaf[box]);
		const entries = [
			["Zoom to it", () => zoomTo(box)],
			["Copy the stack", () => copied(stackText(model, now.inverted ? boxes.leaf[box] : n))],
			["Copy the function's name", () => copied(boxName(box))],
			["Search for it", () => state.set({ search: boxName(box) })],
			id && boxes.leaf[box] === n
				? [
						`Copy msreport --stack=${id}`,
						() => copied(`msreport --stack=${id} ${model.meta.trace ?? "TRACE"}`),
					]
				: null,
			["Hide the function", () => hide(box)],
		].filter(Boolean);
		const close = () => {
			menu.remove();
			removeEventListener("pointerdown", outside, true);
		};
		const outside = (event) => menu.contains(event.target) || close();
		const menu = h(
			"div",
			{ class: "menu", role: "menu", "aria-label": show(boxName(box), 60) },
			entries.map(([title, act]) =>
				h(
					"button",
					{
						role: "menuitem",
						type: "button",
						on: {
							click: () => {
								close();
								act();
								scroll.focus({ preventScroll: true });
							},
						},
					},
					title,
				),
			),
		);
		menu.addEventListener("keydown", (event) => {
			const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
			if (step) {
				event.preventDefault();
				const all = [...menu.children];
				all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
			} else if (event.key === "Escape" || event.key === "Tab") {
				event.preventDefault();
				event.stopPropagation();
				close();
				scroll.focus({ preventScroll: true });
			}
		});
		stage.appendChild(menu);
		menu.style.setProperty("left", `${Math.max(0, Math.min(x, stage.clientWidth - menu.offsetWidth))}px`);
		menu.style.setProperty("top", `${y}px`);
		menu.firstChild.focus({ preventScroll: true });
		addEventListener("pointerdown", outside, true);
	}

	/* ---- Keyboard ---- */
	function onKey(event) {
		if (event.target !== scroll || !drawn || event.ctrlKey || event.metaKey || event.altKey) return;
		const { boxes } = drawn,
			act = {
				ArrowDown: () => walk(childrenOf(cursor)[0]),
				ArrowUp: () => walk(boxes.parent[cursor]),
				ArrowRight: () => sibling(1),
				ArrowLeft: () => sibling(-1),
				Home: () => walk(0),
				Enter: () => zoomTo(cursor),
				" ": () => cursor && state.set({ selected: boxes.node[cursor] }),
				Backspace: () => zoomTo(boxes.parent[drawn.zoom]),
				Escape: () => (drawn.zoom > 0 ? zoomTo(0) : state.set({ selected: null })),
				c: () => cursor && copied(stackText(model, boxes.leaf[cursor])),
				h: () => cursor && hide(cursor),
				ContextMenu: menuAtCursor,
				F10: () => event.shiftKey && menuAtCursor(),
			}[event.key.length === 1 ? event.key.toLowerCase() : event.key];
		if (!act) return;
		event.preventDefault();
		act();
	}

	function menuAtCursor() {
		const found = drawing.placeOf(cursor);
		if (found && cursor) openMenu(cursor, found.x, (found.row + 1) * ROW - scroll.scrollTop);
	}

	// In sight: what has a figure in this range.
	function childrenOf(box) {
		const { boxes, sums } = drawn;
		return box < 0
			? [0]
			: Array.from(boxes.children.subarray(boxes.firstChild[box], boxes.firstChild[box + 1])).filter(
					(b) => sums.all[b] > 0,
				);
	}

	function sibling(step) {
		const all = childrenOf(drawn.boxes.parent[cursor]);
		walk(all[all.indexOf(cursor) + step]);
	}

	function walk(box) {
		if (box === undefined || box < 0) return;
		cursor = box;
		const y = drawn.boxes.depth[box] * ROW;
		if (y < scroll.scrollTop) scroll.scrollTop = y;
		else if (y + ROW > scroll.scrollTop + scroll.clientHeight)
			scroll.scrollTop = y + ROW - scroll.clientHeight;
		tellTree();
		paint();
	}

	// The hidden tree: the way to the cursor, what is beside it and what is below it.
	function tellTree() {
		if (!drawn) return;
		const { boxes } = drawn,
			way = [];
		for (let b = cursor; b >= 0; b = boxes.parent[b]) way.unshift(b);
		const item = (box, at, of) =>
			h(
				"div",
				{
					role: "treeitem",
					id: `box-${box}`,
					"aria-level": boxes.depth[box] + 1,
					"aria-posinset": at + 1,
					"aria-setsize": of,
					"aria-selected": box === drawn.chosen ? "true" : "false",
					"aria-expanded": childrenOf(box).length ? (way.includes(box) ? "true" : "false") : null,
				},
				`${show(boxName(box), 200)}: ${figures(box)}`,
			);
		const level = (box) => {
			const all = childrenOf(boxes.parent[box]),
				at = Math.max(all.indexOf(box), 0),
				start = Math.max(0, Math.min(at - MOST_ITEMS / 2, all.length - MOST_ITEMS));
			return (all.length ? all : [box])
				.slice(start, start + MOST_ITEMS)
				.map((b, i) => [b, start + i, all.length || 1]);
		};
		const below = childrenOf(cursor),
			beside = level(cursor);
		const before = beside.filter(
			([b]) => b !== cursor && beside.findIndex(([x]) => x === b) < beside.findIndex(([x]) => x === cursor),
		);
		const after = beside.slice(before.length + 1);
		fill(
			tree,
			way.slice(0, -1).map((b) => item(b, 0, 1)),
			before.map((x) => item(...x)),
			item(...(beside.find(([b]) => b === cursor) || [cursor, 0, 1])),
			below.slice(0, MOST_ITEMS).map((b, i) => item(b, i, below.length)),
			after.map((x) => item(...x)),
		);
		scroll.setAttribute("aria-activedescendant", `box-${cursor}`);
	}

	return { element, update };
}

// Metric, direction, folding, colour, hiding.
function tools(state) {
	const choice = (title, key, options, label = null) => {
		const sane = (id) => (options.some(([known]) => known === id) ? id : options[0][0]);
		const select = h(
			"select",
			{ "aria-label": label, on: { change: () => state.set({ [key]: select.value }) } },
			options.map(([id, name]) => h("option", { value: id }, name)),
		);
		return {
			select,
			key,
			sane,
			element: h("label", {}, title ? h("span", { class: "soft" }, title) : null, select),
		};
	};
	const metric = choice(
		"Show",
		"metric",
		METRICS.map((m) => [m.id, m.title]),
	);
	const colour = choice(
		null,
		"colour",
		[
			["module", "Colour: module"],
			["thread", "Colour: thread"],
			["lifetime", "Colour: lifetime"],
		],
		"Colour",
	);
	const toggle = (title, key, more, tip) =>
		h(
			"button",
			{
				type: "button",
				title: tip,
				"aria-pressed": "false",
				on: { click: () => state.set({ [key]: !state.get()[key], ...more }) },
			},
			title,
		);
	const inverted = toggle(
		"Inverted",
		"inverted",
		{ zoom: "" },
		"The allocating functions first, their callers below",
	);
	const fold = toggle(
		"Fold allocators",
		"fold",
		{},
		"Leave out allocators, libc, the C++ library and Rust's",
	);
	const pattern = h("input", {
		type: "text",
		placeholder: "hide: pattern*",
		"aria-label": "Hide functions by name or pattern, with * and ?",
		size: 13,
	});
	const form = h(
		"form",
		{
			on: {
				submit: (event) => {
					event.preventDefault();
					const text = pattern.value.trim(),
						{ hidden } = state.get();
					if (text && !hidden.includes(text)) state.set({ hidden: [...hidden, text], zoom: "" });
					pattern.value = "";
				},
			},
		},
		pattern,
	);
	const element = h(
		"div",
		{ class: "tools", role: "group", "aria-label": "Flame graph" },
		metric.element,
		colour.element,
		inverted,
		fold,
		form,
	);
	return {
		element,
		update(now) {
			for (const one of [metric, colour]) one.select.value = one.sane(now[one.key]);
			inverted.setAttribute("aria-pressed", String(now.inverted));
			fold.setAttribute("aria-pressed", String(now.fold));
		},
	};
}
