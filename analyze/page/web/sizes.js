// SPDX-License-Identifier: MIT
// Sizes of blocks: a histogram by powers of two, the commonest sizes, and how long blocks of which size live.
import { fill, h } from "./dom.js";
import { Grid } from "./grid.js";
import { heatTable } from "./heat.js";
import { figure, shareColumn } from "./cells.js";
import { bytes, count, counted, many, share } from "./units.js";

const COUNTED = [
	{ id: "calls", title: "Calls", format: count },
	{ id: "bytes", title: "Bytes allocated", format: bytes },
	{ id: "peak_bytes", title: "Bytes at the peak", format: bytes },
];

function sizeClass({ from, to }) {
	return from === to ? bytes(from) : `${bytes(from)} … ${bytes(to)}`;
}

// 2^(bits - 1) … 2^bits - 1
function lifeClass(bits) {
	return bits === 0 ? "0" : bits === 1 ? "1" : `${many(2 ** (bits - 1))} … ${many(2 ** bits - 1)}`;
}

function histogram(classes, counted) {
	const most = Math.max(...classes.map((each) => each[counted.id]), 1);
	const sum = classes.reduce((total, each) => total + each[counted.id], 0);
	return h(
		"table",
		{ class: "bars" },
		h("caption", { class: "unseen" }, `${counted.title} by size`),
		h(
			"thead",
			{},
			h(
				"tr",
				{},
				["Size", counted.title, "Share", "Median life"].map((title, i) =>
					h("th", { scope: "col", class: i ? "number" : null }, title),
				),
				h("td", { class: "bar-cell" }),
			),
		),
		h(
			"tbody",
			{},
			classes.map((each) =>
				h(
					"tr",
					{},
					h("th", { scope: "row" }, sizeClass(each)),
					h("td", { class: "number" }, counted.format(each[counted.id])),
					h("td", { class: "number" }, share(each[counted.id], sum)),
					h(
						"td",
						{ class: "number" },
						each.median_life_calls === null ? "–" : `${many(each.median_life_calls)} calls`,
					),
					h(
						"td",
						{ class: "bar-cell", "aria-hidden": "true" },
						h("span", { class: "bar-part", style: { "--part": each[counted.id] / most } }),
					),
				),
			),
		),
	);
}

function heatMap(classes) {
	const lived = classes.filter((each) => each.lives?.some((n) => n > 0));
	if (!lived.length)
		return h("p", { class: "about" }, "Lifetimes aren't known of this trace, or nothing was freed.");
	const lives = Math.max(...lived.map((each) => each.lives.length));
	return heatTable({
		label: "Lifetimes by size",
		about: "Freed blocks by lifetime in calls (down) and size (across). Darker is more, by the logarithm.",
		corner: "Life \\ size",
		columns: lived.map((each) => ({ title: bytes(each.from), hint: sizeClass(each) })),
		rows: Array.from({ length: lives }, (_, bits) => ({
			title: lifeClass(bits),
			cells: lived.map((each) => ({
				value: each.lives[bits] ?? 0,
				about: `${sizeClass(each)}, life ${lifeClass(bits)} calls`,
			})),
		})),
	});
}

function commonest(rows, state) {
	const grid = new Grid({
		label: "Commonest sizes",
		sort: "-calls",
		state,
		empty: "Nothing was allocated.",
		nameWidth: 8,
		columns: [
			{ id: "size", title: "Size", value: (row) => row.size, text: (row) => `${count(row.size)} B` },
			figure("calls", "Calls", count, (row) => row.calls, { width: 8 }),
			shareColumn({ width: 7 }),
			figure("bytes", "Allocated", bytes, (row) => row.bytes, { width: 8 }),
			figure("peak", "At the peak", bytes, (row) => row.peak_bytes, { width: 8 }),
			figure("end", "At the end", bytes, (row) => row.end_bytes, { width: 8 }),
		],
	});
	grid.setRows(rows);
	return grid;
}

// What the allocator gave beyond what was asked for, if that was recorded.
function slack({ slack_bytes: all, peak_slack_bytes: peak }) {
	if (all === undefined) return null;
	return ` The allocator gave ${bytes(all)} more than was asked for; ${bytes(peak)} of that lies in the peak.`;
}

export function sizes(model, state) {
	const section = model.meta.report.sections.sizes ?? {
		classes: [],
		commonest: [],
		calls: 0,
		mean: 0,
		sizes: 0,
	};
	const classes = section.classes.filter((each) => each.calls > 0);
	const chart = h("div", { class: "wide", role: "region", tabindex: 0, "aria-label": "Histogram of sizes" });
	const menu = h(
		"select",
		{ on: { change: () => state.set({ counted: menu.value }) } },
		COUNTED.map((each) => h("option", { value: each.id }, each.title)),
	);
	const grid = commonest(section.commonest, state);
	const below = h(
		"div",
		{},
		h(
			"div",
			{ class: "view" },
			h("h3", {}, "How long blocks of which size live"),
			heatMap(classes),
			h("h3", {}, "Commonest sizes"),
			grid.element,
		),
	);
	const element = h(
		"section",
		{ class: "view" },
		h("h2", {}, "Sizes"),
		h(
			"p",
			{ class: "about" },
			`The whole run: ${counted(section.calls, "call")} of ${counted(section.sizes, "size")}, `,
			`${bytes(section.mean)} on average.`,
			slack(section),
		),
		h("p", { class: "controls" }, h("label", {}, "Count ", menu)),
		chart,
		below,
	);
	let shown = null;
	function update() {
		const counted = COUNTED.find((each) => each.id === state.get().counted) ?? COUNTED[0];
		menu.value = counted.id;
		if (shown !== counted) fill(chart, histogram(classes, counted));
		shown = counted;
		grid.sort();
	}
	// The heat map has a thousand cells, which follow behind the frame that shows the histogram.
	function opened() {
		below.hidden = true;
		requestAnimationFrame(() => setTimeout(() => (below.hidden = false)));
	}
	return { element, update, opened };
}
