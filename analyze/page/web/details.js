// SPDX-License-Identifier: MIT
// What is known of the selected call: figures of the range, its life, sizes, lifetimes, callers and callees. Without a
// selection: the largest functions of the range.
import { allocators, boxSums, callTree, nodeName, place, stackOf, stackText } from "./calls.js";
import { fill, h, svg } from "./dom.js";
import { selfOf, shownMetric } from "./figures.js";
import { threadName } from "./palette.js";
import { copy, cutFunction, cutPlace, file, show, shown as readable } from "./text.js";
import { bytes, count, metric, nanoseconds, share } from "./units.js";

const ROWS = ["peak", "live", "kept", "allocated", "calls"],
	MOST = 10,
	MOST_CALLEES = 6;
const SETTLED = 60; // ms after the last change

export function details(model, state) {
	const body = h("div", {});
	const clear = () => state.set({ selected: null });
	const element = h(
		"aside",
		{
			class: "sheet details",
			"aria-label": "Details",
			on: { keydown: (event) => event.key === "Escape" && clear() },
		},
		body,
	);
	let timer = 0;
	let before = null;

	// The pane follows behind the view: in the next task where something was chosen, a little later while a range is
	// dragged.
	function update() {
		const now = state.get();
		const chosen = !before || before.selected !== now.selected || before.metric !== now.metric;
		before = now;
		clearTimeout(timer);
		timer = setTimeout(draw, chosen ? 0 : SETTLED);
	}

	function draw() {
		const now = state.get();
		fill(body, now.selected === null ? largest(now) : selected(now));
	}

	/* ---- No selection ---- */
	function largest(now) {
		const shown = shownMetric(now),
			values = selfOf(model, shown.id, now.from, now.until),
			tops = allocators(model, now, values),
			total = model.total(values);
		return [
			h("h2", {}, now.from === now.until ? "Largest at this moment" : "Largest in the range"),
			h("p", { class: "soft" }, shown.noun),
			h(
				"ol",
				{ class: "stack", style: { "margin-top": "8px" } },
				tops
					.slice(0, MOST)
					.map(({ sum, node, call }) =>
						item(
							call,
							figure(shown, sum, total),
							sum / total,
							node,
							model.rest[call] ? "others" : nodeName(model, call),
						),
					),
			),
			tops.length > MOST ? h("p", { class: "soft" }, `and ${count(tops.length - MOST)} more`) : null,
			h(
				"p",
				{ class: "soft", style: { "margin-top": "8px" } },
				"Select a box or a row for its figures, its life and its callers.",
			),
		];
	}

	function figure(shown, part, whole) {
		return [shown.unit(part), h("span", { class: "soft part" }, share(part, whole))];
	}

	// A call with its figure, and a bar of its share behind both.
	function item(n, figure = null, part = 0, go = n, name = nodeName(model, n)) {
		const where = place(model, n);
		return h(
			"li",
			{},
			h(
				"button",
				{
					type: "button",
					class: "call",
					style: { "--part": `${(100 * part).toFixed(1)}%` },
					"aria-current": n === state.get().selected ? "true" : null,
					on: { click: () => state.set({ selected: go }) },
				},
				h(
					"span",
					{},
					cutFunction(readable(name), 64),
					where ? h("span", { class: "place" }, ` ${cutPlace(readable(file(where)), 40)}`) : null,
				),
				figure ? h("span", { class: "number" }, figure) : null,
			),
		);
	}

	/* ---- A selection ---- */
	function selected(now) {
		const n = now.selected,
			tree = callTree(model, { fold: now.fold, hidden: now.hidden }),
			box = tree.of[n];
		const name = nodeName(model, n),
			where = place(model, n),
			module = model.rest[n] ? "" : model.moduleOf(model.frame[n]);
		const below = stacksBelow(tree, box);
		return [
			h(
				"div",
				{ class: "head" },
				h("h2", { class: "grow" }, show(name, 300)),
				h(
					"button",
					{
						type: "button",
						class: "plain",
						"aria-label": "Clear the selection",
						on: { click: clear },
					},
					"×",
				),
			),
			h(
				"p",
				{ class: "soft" },
				[module, where]
					.filter(Boolean)
					.map((t) => show(t, 200))
					.join(" · "),
			),
			figuresOf(now, tree, box),
			life(now, below),
			facts(below),
			actions(now, n),
			callees(now, tree, box),
			h("h3", {}, "Called by"),
			h(
				"ol",
				{ class: "stack" },
				stackOf(model, n).map((up) => item(up)),
			),
		];
	}

	function figuresOf(now, tree, box) {
		const moment = now.from === now.until,
			rows = moment ? ["live", "liveBlocks"] : ROWS;
		const cells = rows.map((id) => {
			const what = metric(id),
				sums = boxSums(tree, selfOf(model, id, now.from, now.until));
			return h(
				"tr",
				{},
				h("th", { scope: "row", title: what.noun }, what.short),
				h("td", { class: "number" }, what.unit(sums.all[box])),
				h("td", { class: "number" }, share(sums.all[box], sums.all[0])),
				h("td", { class: "number" }, what.unit(sums.own[box])),
			);
		});
		return h(
			"table",
			{ class: "plain-table" },
			h("caption", { class: "unseen" }, "Figures of the range"),
			h(
				"thead",
				{},
				h(
					"tr",
					{},
					h("th", { scope: "col" }, moment ? "At this moment" : "In this range"),
					["with callees", "of all", "its own"].map((t) => h("th", { scope: "col", class: "number" }, t)),
				),
			),
			h("tbody", {}, cells),
		);
	}

	function stacksBelow(tree, box) {
		const under = new Uint8Array(tree.count),
			nodes = [];
		under[box] = 1;
		for (let b = box + 1; b < tree.count; b++) under[b] = under[tree.parent[b]];
		for (let n = 0; n < model.nodeCount; n++) if (under[tree.of[n]]) nodes.push(n);
		return nodes;
	}

	function life(now, nodes) {
		const points = model.lifeOfAll(nodes),
			W = 320,
			H = 56,
			{ border } = model;
		const most = points.reduce((a, b) => Math.max(a, b), 0),
			end = border[model.bucketCount],
			x = (i) => (((border[i] - border[0]) / (end - border[0] || 1)) * W).toFixed(1);
		if (!(most > 0)) return null;
		let d = "";
		points.forEach((v, i) => {
			d += `${i ? "L" : "M"}${x(i)} ${(H - 2 - (v / most) * (H - 6)).toFixed(1)}`;
		});
		return [
			h("h3", {}, `Its life: at most ${bytes(most)} at a border`),
			svg(
				"svg",
				{
					class: "life",
					viewBox: `0 0 ${W} ${H}`,
					preserveAspectRatio: "none",
					role: "img",
					"aria-label": `Live bytes over the run, at most ${bytes(most)}`,
				},
				svg("path", { class: "area", d: `${d}L${W} ${H}L0 ${H}z` }),
				svg("path", { class: "outline", d }),
				svg("rect", {
					class: "brush",
					x: x(now.from),
					y: 0,
					width: Math.max(x(now.until) - x(now.from), 1),
					height: H,
				}),
			),
		];
	}

	function facts(below) {
		const known = model.facts,
			calls = selfOf(model, "calls", 0, model.bucketCount),
			bytesOf = selfOf(model, "allocated", 0, model.bucketCount);
		const own = below.filter((n) => calls[n] > 0),
			sum = (of) => own.reduce((all, n) => all + (of[n] || 0), 0);
		if (!own.length) return null;
		const largest = own.reduce((a, b) => (calls[b] > calls[a] ? b : a)),
			all = sum(calls);
		const least = own.reduce((a, n) => (known.least[n] < a ? known.least[n] : a), Infinity),
			most = own.reduce((a, n) => (known.most[n] > a ? known.most[n] : a), 0);
		const pair = (title, value) =>
			value === null || value === "" ? null : [h("dt", {}, title), h("dd", {}, value)];
		const lives = [
			["calls", known.calls50, known.calls99, count],
			["bytes allocated", known.bytes50, known.bytes99, bytes],
			["time", known.ns50, known.ns99, nanoseconds],
		].filter(([, middle]) => Number.isFinite(middle[largest]));
		const moved = sum(known.moved),
			temporary = sum(known.temporary),
			verdict = model.verdictOf(largest);
		return [
			h("h3", {}, own.length > 1 ? `${count(own.length)} stacks, whole run` : "Whole run"),
			h(
				"dl",
				{ class: "pairs" },
				pair("calls", count(all)),
				Number.isFinite(least)
					? pair(
							"sizes",
							least === most
								? bytes(least)
								: `${bytes(least)} to ${bytes(most)}, mean ${bytes(sum(bytesOf) / all)}`,
						)
					: null,
				temporary ? pair("temporary", `${count(temporary)}, ${share(temporary, all)}`) : null,
				moved ? pair("moved by realloc", `${times(moved)}, ${bytes(sum(known.copied))} copied`) : null,
				threads(own),
				verdict
					? pair(
							own.length > 1 ? "verdict on the busiest" : "verdict",
							h("span", { class: `verdict ${verdict === "growing" ? "growing" : ""}` }, verdict),
						)
					: null,
			),
			lifetimes(lives, largest, own.length > 1),
		];
	}

	function lifetimes(lives, largest, several) {
		return lives.length
			? [
					h("h3", {}, several ? "Lifetimes of its busiest stack" : "Lifetimes"),
					h(
						"table",
						{ class: "plain-table" },
						h(
							"thead",
							{},
							h(
								"tr",
								{},
								["in", "median", "99 % below"].map((t, i) =>
									h("th", { scope: "col", class: i ? "number" : null }, t),
								),
							),
						),
						h(
							"tbody",
							{},
							lives.map(([title, middle, high, unit]) =>
								h(
									"tr",
									{},
									h("th", { scope: "row" }, title),
									h("td", { class: "number" }, unit(middle[largest])),
									h("td", { class: "number" }, unit(high[largest])),
								),
							),
						),
					),
				]
			: null;
	}

	function threads(own) {
		const calls = new Map();
		for (const n of own)
			for (const of of model.threadsOf(n)) calls.set(of.thread, (calls.get(of.thread) || 0) + of.calls);
		const first = [...calls].sort((a, b) => b[1] - a[1]),
			more = first.length - 3;
		return first.length
			? [
					h("dt", {}, first.length > 1 ? "threads" : "thread"),
					h(
						"dd",
						{},
						first
							.slice(0, 3)
							.map(([t, n]) =>
								h("div", {}, `${show(threadName(model.threads[t], t), 40)}: ${count(n)} calls`),
							),
						more > 0 ? h("div", {}, `and ${count(more)} more`) : null,
					),
				]
			: null;
	}

	function actions(now, n) {
		const id = model.stackId(n),
			button = (title, act) => {
				const made = h(
					"button",
					{
						type: "button",
						on: {
							click: async () => {
								const said = await act();
								if (said === true) {
									made.textContent = "Copied";
									setTimeout(() => {
										made.textContent = title;
									}, 1200);
								}
							},
						},
					},
					title,
				);
				return made;
			};
		return h(
			"div",
			{ class: "row" },
			button("Copy the stack", () => copy(stackText(model, n))),
			button("Zoom to it", () => state.set({ view: "flame", inverted: false, zoom: String(n) })),
			id
				? button(`Copy --stack=${id.slice(0, 6)}`, () =>
						copy(`msreport --stack=${id} ${model.meta.trace ?? "TRACE"}`),
					)
				: null,
		);
	}

	function callees(now, tree, box) {
		const shown = shownMetric(now),
			{ all } = boxSums(tree, selfOf(model, shown.id, now.from, now.until));
		const found = Array.from(tree.children.subarray(tree.firstChild[box], tree.firstChild[box + 1]))
			.filter((b) => all[b] > 0)
			.sort((a, b) => all[b] - all[a]);
		return found.length
			? [
					h("h3", {}, "Calls"),
					h(
						"ol",
						{ class: "stack" },
						found
							.slice(0, MOST_CALLEES)
							.map((b) => item(tree.node[b], figure(shown, all[b], all[box]), all[b] / all[box])),
					),
					found.length > MOST_CALLEES
						? h("p", { class: "soft" }, `and ${count(found.length - MOST_CALLEES)} more`)
						: null,
				]
			: null;
	}
	return { element, update };
}

function times(n) {
	return n === 1 ? "once" : `${count(n)} times`;
}
