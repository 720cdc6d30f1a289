// SPDX-License-Identifier: MIT
// What grew, shrank, is new and is gone, each list a table of its own: of stacks, and of functions; and how stacks of
// the two sides were matched.
import { groupsOf } from "./calls.js";
import { callColumn, figure, view } from "./cells.js";
import { figureOf, figuresOf, ratio, signed } from "./change_lens.js";
import { fill, h } from "./dom.js";
import { Grid, shownOf } from "./grid.js";
import { callName, callText, finder } from "./names.js";
import { cutFunction, shown } from "./text.js";
import { bytes, count } from "./units.js";

export const LISTS = { grew: "Grew", shrank: "Shrank", new: "New", gone: "Gone" };

// The sum of a list's changes, as msreport has it; null: a figure that is no sum.
export function sumOf(model, id, list) {
	const { bytes: sizes, counts } = model.meta.report.sections.diff;
	const row = [...sizes, ...counts].find((each) => each.figure === id);
	return row?.[list === "new" ? "appeared" : list] ?? null;
}

/* ---- What both tables have ---- */

// The list that the state says, else the first one that has rows.
function listOf({ list }, size) {
	if (Object.hasOwn(LISTS, list ?? "")) return list;
	return Object.keys(LISTS).find((each) => size(each)) ?? "grew";
}

// Buttons of the lists with what is in them, and the choice of the figure. `describe(now, list)`: numbers of a button.
function controls(model, state, sums, describe, ...more) {
	const menu = h(
		"select",
		{ on: { change: () => state.set({ metric: menu.value, sort: "" }) } },
		figuresOf(model, sums).map(({ id, title }) => h("option", { value: id }, title)),
	);
	const buttons = Object.entries(LISTS).map(([list, title]) => {
		const said = h("span", { class: "soft" });
		const button = h(
			"button",
			{ type: "button", on: { click: () => state.set({ list, sort: "" }) } },
			`${title} `,
			said,
		);
		return { list, button, said };
	});
	const element = h(
		"div",
		{ class: "controls" },
		h(
			"div",
			{ class: "controls", role: "group", "aria-label": "List" },
			buttons.map(({ button }) => button),
		),
		h("label", {}, "Show ", menu),
		...more,
	);
	return {
		element,
		update(now, shownList) {
			menu.value = figureOf(model, now.metric, sums).id;
			for (const { list, button, said } of buttons) {
				button.setAttribute("aria-pressed", String(list === shownList));
				fill(said, describe(now, list));
			}
		},
	};
}

// The columns of a figure; `value(row)`: {was, is}, null is not known.
function changeColumns(unit, value) {
	const change = (row) => {
		const { was, is } = value(row);
		return was === null || is === null ? null : is - was;
	};
	const share = (row) => (value(row).was > 0 ? change(row) / value(row).was : null);
	return [
		figure("change", "Change", (n) => signed(unit, n), change, { width: 7.5 }),
		figure("share", "in %", (part) => ratio(1, part), share, { width: 5.5, none: "" }),
		figure("old", "Old", unit, (row) => value(row).was, { width: 7 }),
		figure("new", "New", unit, (row) => value(row).is, { width: 7 }),
	];
}

const LARGEST = { grew: "-change", shrank: "change", new: "-change", gone: "change" };

// The columns depend on figure and list, so they are made when these change.
function shape(grid, key, list, columns) {
	grid.usual = LARGEST[list];
	if (grid.columnsOf !== key) grid.setColumns(columns());
	grid.columnsOf = key;
}

/* ---- Stacks ---- */

const known = (value) => (Number.isNaN(value) ? null : value);

function place(row) {
	return row.oldLine && row.line && row.oldLine !== row.line
		? `${row.line}, was ${row.oldLine}`
		: row.line || "";
}

function stackColumns(model, figureShown, list) {
	const { before, after, noise } = model.changes.figures.get(figureShown.id);
	return [
		callColumn("Stack"),
		...changeColumns(figureShown.unit, ({ i }) => ({ was: known(before[i]), is: known(after[i]) })),
		...(noise
			? [
					figure("noise", "Noise", figureShown.unit, ({ i }) => known(noise[i]), {
						hint: "changes up to this are none: three times the median deviation of the old recordings, at least 1 %",
					}),
				]
			: []),
		{
			id: "caller",
			title: "Called by",
			width: 16,
			class: "soft",
			value: (row) => row.caller ?? "",
			cell: (row) => cutFunction(shown(row.caller ?? ""), 60),
		},
		...(list === "grew" || list === "shrank"
			? [
					{
						id: "matched",
						title: "Matched",
						width: 6.5,
						value: (row) => row.matched,
						text: (row) => row.matched,
					},
					{
						id: "was",
						title: "Was",
						width: 12,
						value: (row) => row.was ?? "",
						cell: (row) => cutFunction(shown(row.was ?? ""), 40),
					},
					{ id: "line", title: "Line", width: 8, value: (row) => row.line, text: place },
				]
			: []),
		{
			id: "id",
			title: "Id",
			width: 10,
			value: (row) => row.id ?? row.oldId ?? "",
			cell: (row) => h("code", {}, row.id ?? row.oldId ?? ""),
		},
	];
}

function finds(search) {
	const test = finder(search);
	return (row) =>
		test(row) ||
		(row.was && test({ function: row.was })) ||
		(row.caller && test({ function: row.caller })) ||
		(row.oldId && test({ id: row.oldId }));
}

// "12 of 1,234 stacks": what is in a list, and how much of it the page has.
function leftOut(model, { id, unit }, list, rows) {
	const { listed, before, after } = model.changes.figures.get(id),
		left = listed[list] - rows.length,
		sum = sumOf(model, id, list);
	if (left <= 0) return "";
	const rest = sum === null ? null : rows.reduce((n, { i }) => n - (after[i] - before[i]), sum);
	return ` ${count(left)} smaller ${left === 1 ? "one isn't" : "ones aren't"} in the page${
		rest === null ? "" : `: ${signed(unit, rest)}`
	}.`;
}

export function stacks(model, state) {
	const bar = controls(model, state, false, (now, list) => {
		const { id, unit } = figureOf(model, now.metric),
			sum = sumOf(model, id, list),
			n = model.changes.figures.get(id).listed[list];
		return n && sum !== null ? `${count(n)}, ${signed(unit, sum)}` : count(n);
	});
	const grid = new Grid({
		label: "Stacks",
		columns: [],
		sort: "-change",
		state,
		empty: "No stack is in this list.",
		pick: (row) => state.set({ selected: row.node }),
		chosen: (row) => row.node === state.get().selected,
	});
	const { element, note, status } = view(
		"Stacks",
		"A stack is the same if its functions are, in their order; msreport(1) says how stacks of two builds are matched.",
		bar.element,
		grid.element,
	);

	function update() {
		const now = state.get(),
			shownFigure = figureOf(model, now.metric),
			list = listOf(now, (each) => model.changes.figures.get(shownFigure.id).listed[each]);
		const of = model.changes.figures.get(shownFigure.id).list,
			rows = model.changes.rows.filter(({ i }) => of[i] === list),
			found = rows.filter(finds(now.search));
		bar.update(now, list);
		shape(grid, `${shownFigure.id} ${list}`, list, () => stackColumns(model, shownFigure, list));
		grid.setRows(found);
		fill(status, shownOf(found.length, rows.length, "stacks"), ".");
		fill(note, leftOut(model, shownFigure, list, rows));
	}
	return { element, update };
}

/* ---- Functions ---- */

// A function's row: {call, node, was, is, counts, inOld, inNew}; the node is that of its largest change.
function functionRow(rows, key, call) {
	if (!rows.has(key))
		rows.set(key, { call, was: 0, is: 0, counts: 0, inOld: 0, inNew: 0, most: -1, node: null });
	return rows.get(key);
}

function addTo(row, node, more) {
	for (const key in more) row[key] += more[key];
	const size = Math.abs(more.counts);
	if (size > row.most) Object.assign(row, { most: size, node });
}

// Functions with what they allocated themselves, which is what their stacks did.
function ownRows(model, id) {
	const { before, after, list } = model.changes.figures.get(id),
		rows = new Map();
	for (const { i, node, only, function: name, module, file } of model.changes.rows) {
		const row = functionRow(rows, `${name}\n${module}`, { function: name, module, file });
		const counts = list[i] === "same" ? 0 : after[i] - before[i];
		addTo(row, node, { was: before[i], is: after[i], counts, inOld: only !== "new", inNew: only !== "old" });
	}
	return [...rows.values()];
}

// Functions with all that they called: each stack once, however often the function is on it.
function calledRows(model, id) {
	const groups = groupsOf(model),
		{ old, new: is, counts } = model.changes.figures.get(id),
		there = presence(model),
		rows = new Map();
	const sums = { was: old, is, counts, inOld: there.old, inNew: there.new };
	for (const key in sums) sums[key] = model.inclusive(sums[key]);
	for (let n = 0; n < model.nodeCount; n++) {
		if (model.rest[n] || isWithin(model, groups, n)) continue;
		const group = groups.of[model.frame[n]],
			f = groups.frame[group];
		const call = { function: model.functionOf(f), module: model.moduleOf(f), file: model.fileOf(f) };
		const more = Object.fromEntries(Object.entries(sums).map(([key, values]) => [key, values[n]]));
		addTo(functionRow(rows, group, call), n, more);
	}
	return [...rows.values()];
}

// Whether the function of a node is one of its callers as well.
function isWithin(model, groups, n) {
	const group = groups.of[model.frame[n]];
	for (let up = model.parent[n]; up >= 0; up = model.parent[up])
		if (groups.of[model.frame[up]] === group) return true;
	return false;
}

// By node how many of its rows each side has. What isn't listed counts for both.
function presence(model) {
	const old = Float64Array.from(model.rest),
		is = Float64Array.from(model.rest);
	for (const { node, only } of model.changes.rows) {
		old[node] += only !== "new";
		is[node] += only !== "old";
	}
	return { old, new: is };
}

function listOfFunction({ counts, inOld, inNew }) {
	if (counts === 0) return "same";
	if (!inOld) return "new";
	if (!inNew) return "gone";
	return counts > 0 ? "grew" : "shrank";
}

export function functions(model, state) {
	const made = new Map();
	const whole = h("input", {
		type: "checkbox",
		on: { change: () => state.set({ called: whole.checked ? "1" : "" }) },
	});
	const rowsOf = (now) => {
		const key = `${figureOf(model, now.metric, true).id} ${now.called ?? ""}`;
		if (!made.has(key)) {
			const lists = { same: [], grew: [], shrank: [], new: [], gone: [] };
			const { id } = figureOf(model, now.metric, true);
			for (const row of now.called === "1" ? calledRows(model, id) : ownRows(model, id))
				lists[listOfFunction(row)].push(row);
			made.set(key, lists);
		}
		return made.get(key);
	};
	const bar = controls(
		model,
		state,
		true,
		(now, list) => count(rowsOf(now)[list].length),
		h("label", {}, whole, "with all that they called"),
	);
	const grid = new Grid({
		label: "Functions",
		columns: [],
		sort: "-change",
		state,
		empty: "No function is in this list.",
		pick: (row) => state.set({ selected: row.node }),
		chosen: (row) => row.node === state.get().selected,
	});
	const { element, status } = view(
		"Functions",
		"All stacks of a function together, also those that shrank; a renamed function has its new name.",
		bar.element,
		grid.element,
	);

	function update() {
		const now = state.get(),
			shownFigure = figureOf(model, now.metric, true),
			list = listOf(now, (each) => rowsOf(now)[each].length),
			rows = rowsOf(now)[list],
			test = finder(now.search),
			found = rows.filter(({ call }) => test(call));
		whole.checked = now.called === "1";
		bar.update(now, list);
		shape(grid, `${shownFigure.id} ${list}`, list, () => [
			{
				id: "name",
				title: "Function",
				value: ({ call }) => shown(call.function),
				cell: ({ call }) => callName({ ...call, line: 0 }),
				hover: ({ call }) => cutFunction(callText(call), 1000),
			},
			...changeColumns(shownFigure.unit, (row) => row),
		]);
		grid.setRows(found);
		fill(status, shownOf(found.length, rows.length, "functions"), ".");
	}
	return { element, update };
}

/* ---- How stacks were matched ---- */

const HOW = {
	same: "equal functions, whatever their lines and addresses",
	renamed: "equal, if functions of one recording alone stand for functions of the other alone",
	moved: "nearly equal: a call more or less between the same ends",
	"only in the old": "gone: nothing in the new recording is like it",
	"only in the new": "new: nothing in the old recording is like it",
};

const MATCHING = [
	["stacks", "Stacks", count],
	["old_peak_bytes", "Peak, old", bytes],
	["new_peak_bytes", "new", bytes],
	["old_bytes", "Allocated, old", bytes],
	["new_bytes", "new", bytes],
	["old_calls", "Calls, old", count],
	["new_calls", "new", count],
];

// What the words of the table mean.
function wordsOf(rows) {
	return h(
		"ul",
		{},
		rows
			.filter((row) => Object.hasOwn(HOW, row.stacks_are))
			.map((row) => h("li", {}, h("strong", {}, row.stacks_are), `: ${HOW[row.stacks_are]}`)),
	);
}

function matchingTable(rows) {
	return h(
		"div",
		{ class: "wide", tabindex: 0, role: "region", "aria-label": "How stacks were matched" },
		h(
			"table",
			{ class: "sums" },
			h("caption", { class: "unseen" }, "How stacks were matched"),
			h(
				"thead",
				{},
				h(
					"tr",
					{},
					h("th", { scope: "col" }, "Stacks are"),
					MATCHING.map(([, title]) => h("th", { scope: "col", class: "number" }, title)),
				),
			),
			h(
				"tbody",
				{},
				rows.map((row) =>
					h(
						"tr",
						{},
						h("th", { scope: "row" }, row.stacks_are),
						MATCHING.map(([key, , unit]) => h("td", { class: "number" }, unit(row[key]))),
					),
				),
			),
		),
	);
}

export function matching(model, state) {
	const rows = model.meta.report.sections.diff.matching ?? [];
	const list = model.changes.rows.filter(({ matched }) => matched === "renamed" || matched === "moved");
	const side = (id, key) => {
		const values = model.changes.figures.get(id)?.[key];
		return ({ i }) => (values ? known(values[i]) : null);
	};
	const grid = new Grid({
		label: "Renamed and moved stacks",
		columns: [
			callColumn("Stack"),
			{
				id: "matched",
				title: "Matched",
				width: 6.5,
				value: (row) => row.matched,
				text: (row) => row.matched,
			},
			{
				id: "was",
				title: "Was",
				width: 14,
				value: (row) => row.was ?? "",
				cell: (row) => cutFunction(shown(row.was ?? ""), 50),
			},
			{ id: "line", title: "Line", width: 8, value: (row) => row.line, text: place },
			figure("bytes", "Allocated", bytes, side("bytes", "after"), { width: 7 }),
			figure("oldBytes", "was", bytes, side("bytes", "before"), { width: 7 }),
			figure("calls", "Calls", count, side("calls", "after")),
			figure("oldCalls", "was", count, side("calls", "before")),
		],
		sort: "-bytes",
		state,
		empty: "No stack was found under another name or in another place.",
		pick: (row) => state.set({ selected: row.node }),
		chosen: (row) => row.node === state.get().selected,
	});
	const { element, status } = view(
		"Matching",
		"Which stack of one recording is which of the other, and what of both found no partner.",
		matchingTable(rows),
		wordsOf(rows),
		h("h3", {}, "Renamed and moved"),
		grid.element,
	);
	return {
		element,
		update() {
			const found = list.filter(finds(state.get().search));
			grid.setRows(found);
			fill(
				status,
				shownOf(found.length, list.length, "renamed or moved stacks"),
				".",
			);
		},
	};
}
