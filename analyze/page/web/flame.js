// SPDX-License-Identifier: MIT
// The flame graph: an icicle of calls. A click zooms, Esc leaves; arrows walk; a shifted click hides. What boxes are as
// wide as, their colours and their figures are the lens's matter (range_lens.js).
// The zoom in the state is "123": the box that node 123 of the model belongs to; inverted "123^4": the box at depth 4
// on the stack of node 123. A hidden tree beside the canvas says the same to screen readers.
import { boxSums, boxTitle, callTree, nodeName, orderChildren, place, stackText } from "./calls.js";
import { fill, h, onPaper, PAPER, watchWidth } from "./dom.js";
import { icicle, ROW } from "./icicle.js";
import { theme } from "./palette.js";
import { rangeLens } from "./range_lens.js";
import { copy, show, tester } from "./text.js";
import { count, share } from "./units.js";

const LOWEST = 420; // px of the drawing, and what the window has beside it: as the style sheet says
const ABOVE = 210;
const PRINTED = 50; // rows on paper, and how much smaller these are there
const SMALLER = 1.5;
const SHARP = 2.5; // dots of a pixel there
const MOST_ITEMS = 40; // of one level, in the hidden tree
const SAID = 1500; // ms that a message stays
const SETTLED = 160; // ms after the last change, until the hidden tree follows

export function flame(model, state, lens = rangeLens(model)) {
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
	const controls = tools(state, lens);
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
			boxes = callTree(model, now),
			values = lens.values(now);
		const order = lens.order(now);
		if (boxes.order !== order.key) {
			orderChildren(boxes, boxSums(boxes, order.values()).all);
			boxes.order = order.key;
		}
		const sums = boxSums(boxes, values),
			zoom = zoomed(boxes, now),
			colours = theme(element);
		const search = searched(boxes, now.search);
		if (drawn && drawn.boxes !== boxes) cursor = 0;
		drawn = {
			now,
			boxes,
			sums,
			zoom,
			search,
			colours,
			shown: lens.shown(now),
			width: onPaper() ? SMALLER * PAPER : Math.max(wide(), 200),
			...lens.look(boxes, now, values, colours),
		};
		drawn.chosen = now.selected === null ? -1 : chosenBox(boxes, now);
		if (cursor === 0 || !isBelow(boxes, cursor, zoom)) cursor = zoom;
		drawn.rows = drawing.arrange({ tree: boxes, all: sums.all, zoom, width: drawn.width });
		drawn.matched = matchedBoxes();
		room.style.setProperty("height", `${drawn.rows * ROW}px`);
		controls.update(now);
		tellZoom();
		tellLegend();
		tellHidden();
		paint();
		clearTimeout(timer);
		timer = setTimeout(tellTree, SETTLED);
	}

	// On paper: the first rows, all of them in sight.
	function paint() {
		if (!drawn) return;
		const all = drawn.rows * ROW;
		const printed = onPaper();
		const sight = printed
			? Math.min(all, PRINTED * ROW)
			: Math.min(all, Math.max(LOWEST, window.innerHeight - ABOVE));
		drawing.draw({
			...drawn,
			tints: drawn.boxes.group,
			top: printed ? 0 : Math.min(scrolled, Math.max(all - sight, 0)),
			height: Math.max(sight, ROW),
			nameOf: boxName,
			markOf: (box) => lens.mark(drawn, box),
			matched: drawn.search.matched,
			searching: drawn.search.any,
			over: document.activeElement === scroll ? cursor : over,
			zoomRow: drawn.boxes.depth[drawn.zoom],
			ratio: printed ? SHARP : Math.min(window.devicePixelRatio || 1, 3),
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

	// The boxes below the zoomed one that match, and those of them that lie below no other that does: of these, sums have
	// each block once.
	function matchedBoxes() {
		const { boxes, search, sums, zoom } = drawn,
			under = new Uint8Array(boxes.count),
			outer = [];
		let number = 0;
		if (!search.any) return null;
		under[zoom] = 2;
		for (let b = zoom; b < boxes.count; b++) {
			if (b !== zoom) under[b] = under[boxes.parent[b]];
			if (!under[b] || !search.matched[b]) continue;
			number += sums.all[b] > 0;
			if (under[b] === 2) outer.push(b);
			under[b] = 1;
		}
		return { number, text: lens.matched(drawn, (all) => outer.reduce((sum, b) => sum + all[b], 0)) };
	}

	/* ---- What surrounds the drawing ---- */
	function tellZoom() {
		const { boxes, sums, zoom, shown, matched, now } = drawn,
			path = [];
		for (let b = zoom; b >= 0; b = boxes.parent[b]) path.unshift(b);
		const cutPath = path.length > 5 ? [path[0], -1, ...path.slice(-3)] : path;
		const figure = `${lens.figures(drawn, zoom)}${zoom ? `, ${share(sums.all[zoom], sums.all[0])} of all` : ""}`;
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
						h("strong", {}, `“${show(now.search, 30)}”: ${matched.text}`),
						` in ${count(matched.number)} ${matched.number === 1 ? "box" : "boxes"}`,
						drawn.search.folded ? ", without folded functions" : "",
					)
				: null,
		);
		const cut = onPaper() && drawn.rows > PRINTED;
		fill(note, [
			lens.notes(now, drawn).join(" "),
			cut ? ` The first ${PRINTED} of ${count(drawn.rows)} levels are printed.` : null,
		]);
	}

	function tellLegend() {
		const entry = ([colour, name]) =>
			h("li", {}, h("span", { class: "swatch", style: { "--swatch": colour } }), show(name, 40));
		fill(legend, drawn.legend.map(entry));
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
		const { sums, zoom } = drawn,
			all = sums.all[box];
		const ofZoomed = zoom && box ? `, ${share(all, sums.all[zoom])} of the zoomed` : "";
		return `${lens.figures(drawn, box)}, ${share(all, sums.all[0])} of all${ofZoomed}`;
	}

	function tipOf(box) {
		const n = drawn.boxes.node[box],
			where = n < 0 ? "" : place(model, n);
		const module = n < 0 || model.rest[n] ? "" : model.moduleOf(model.frame[n]);
		const own = drawn.sums.own[box];
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
			lens.more(drawn, box).map((line) => h("div", { class: "soft" }, line)),
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

// The lens's choices, direction, folding, hiding.
function tools(state, lens) {
	const choices = lens.choices.map(({ title, key, options, label }) => {
		const sane = (id) => (options.some(([known]) => known === id) ? id : options[0][0]);
		const select = h(
			"select",
			{ "aria-label": label, on: { change: () => state.set({ [key]: select.value }) } },
			options.map(([id, name]) => h("option", { value: id }, name)),
		);
		return {
			element: h("label", {}, title ? h("span", { class: "soft" }, title) : null, select),
			update: (now) => (select.value = sane(now[key])),
		};
	});
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
		choices.map((choice) => choice.element),
		inverted,
		fold,
		form,
	);
	return {
		element,
		update(now) {
			for (const choice of choices) choice.update(now);
			inverted.setAttribute("aria-pressed", String(now.inverted));
			fold.setAttribute("aria-pressed", String(now.fold));
		},
	};
}
