// SPDX-License-Identifier: MIT
// What each request, call, thread or part of the run allocates and leaves, with msreport --span: the spread of all of
// them, what becomes of their blocks, and the largest ones.
import { answerView } from "./answers.js";
import { figure, shareBar } from "./cells.js";
import { h } from "./dom.js";
import { nodesOfId, nodesOfSite } from "./groups.js";
import { callName, callText } from "./names.js";
import { cutFunction, shown } from "./text.js";
import { threadLabel } from "./threads.js";
import { bytes, count, counted, nanoseconds } from "./units.js";

const SITES = 15; // that are shown at once
const LISTS = ["largest", "highest", "leaving"];
const SPREAD = [
	["calls", "Calls", count],
	["bytes", "Bytes", bytes],
	["peak_bytes", "Peak", bytes],
	["within_bytes", "Freed within", bytes],
	["later_bytes", "In a later span", bytes],
	["after_bytes", "Outside", bytes],
	["left_bytes", "Left", bytes],
	["time_ns", "Time", nanoseconds],
];
const OUTLIVING = [
	["left_bytes", "Left", bytes],
	["left_blocks", "Blocks", count],
	["later_bytes", "In a later span", bytes],
	["later_blocks", "Blocks", count],
	["after_bytes", "Outside", bytes],
	["after_blocks", "Blocks", count],
];
const NAMES = [
	["spans", "Spans", count],
	["calls", "Calls", count],
	["bytes", "Bytes", bytes],
	["later_bytes", "In a later span", bytes],
	["left_bytes", "Left", bytes],
];

function sectionOf(model) {
	return model.meta.report.sections.spans ?? {};
}

export function hasSpans(model) {
	return "what" in sectionOf(model);
}

// A table that scrolls by itself. `cells(row)`: of its head, and of its columns.
function table(title, head, columns, rows, first, className = "sums") {
	const number = (text) => h("td", { class: "number" }, text);
	return h(
		"div",
		{ class: "wide", role: "region", tabindex: 0, "aria-label": title },
		h(
			"table",
			{ class: className },
			h("caption", { class: "unseen" }, title),
			h(
				"thead",
				{},
				h(
					"tr",
					{},
					h("th", { scope: "col" }, head),
					columns.map(([, name]) => h("th", { scope: "col", class: "number" }, name)),
				),
			),
			h(
				"tbody",
				{},
				rows.map((row) =>
					h(
						"tr",
						{},
						h("th", { scope: "row" }, first(row)),
						columns.map(([id, , format]) => number(row[id] === null ? "–" : format(row[id], row))),
					),
				),
			),
		),
	);
}

function sumText(section) {
	const { spans, calls, bytes: size } = section;
	const outside =
		section.outside_calls > 0
			? ` Outside of them: ${counted(section.outside_calls, "call")}, ${bytes(section.outside_bytes)}.`
			: "";
	const all = `${counted(spans, "span")} with ${counted(calls, "call")}, ${bytes(size)}`;
	return `Spans: ${shown(section.what)}. ${all}.${outside}`;
}

// What is said of all spans, above the table of the largest.
function summary(model) {
	const section = sectionOf(model),
		{ distribution = [], fates = [], names = [], notes = [] } = section;
	const parts = [h("p", { class: "about" }, section.spans === undefined ? "" : sumText(section))];
	if (distribution.length)
		parts.push(
			h("h3", {}, "In a span"),
			table("In a span", "Of all spans", SPREAD, distribution, (row) => row.quantile),
		);
	if (fates.length)
		parts.push(
			h("h3", {}, "What became of their blocks"),
			table(
				"What became of their blocks",
				"Blocks",
				[
					["bytes", "Bytes", bytes],
					["share", "Share", (value) => shareBar(value, 1)],
					["blocks", "Blocks", count],
					["spans", "Of spans", count],
				],
				fates,
				(row) => row.fate,
			),
		);
	if (names.length)
		parts.push(
			h("h3", {}, "By name"),
			table("By name", "Name", NAMES, names, (row) => cutFunction(shown(row.name), 60)),
		);
	parts.push(notes.map((note) => h("p", { class: "about" }, note)));
	parts.push(h("h3", {}, "The largest"));
	return h("div", { class: "spans" }, parts);
}

// What outlives its span; a site is a button that selects its largest stack.
function sites(model, state) {
	const all = sectionOf(model).sites ?? [],
		rows = all.slice(0, SITES),
		left = all.length - rows.length + (sectionOf(model).left_out?.sites ?? 0);
	const name = (row) => {
		const node = nodesOfId(model, row.id)[0] ?? nodesOfSite(model, row)[0],
			said = callName(row, 60),
			pick = { click: () => state.set({ selected: node }) };
		return node === undefined
			? said
			: h("button", { type: "button", class: "plain", title: callText(row), on: pick }, said);
	};
	return rows.length
		? [
				h("h3", {}, "What outlives its span"),
				table("What outlives its span", "Site", OUTLIVING, rows, name, "sums lower outliving"),
				h("p", { class: "about" }, left ? `${count(left)} smaller sites are left out.` : ""),
			]
		: [];
}

// Each span once, in whichever lists it is. Only the list of those that left most names another stack.
function spansOf(model) {
	const found = new Map();
	for (const list of LISTS)
		for (const row of sectionOf(model)[list] ?? [])
			if (!found.has(row.number)) found.set(row.number, { ...row, list });
	return [...found.values()];
}

export const spans = answerView({
	title: "Spans",
	noun: "spans",
	empty: "There is none.",
	sort: "-bytes",
	about:
		"The parts of the run that msreport --span asks for, and what becomes of their blocks; msreport(1) states the rules.",
	rows: spansOf,
	nodes: (model, row) => nodesOfId(model, row.id),
	columns: (model) => [
		{
			id: "name",
			title: "Most at",
			value: (row) => row.function,
			cell: (row) => callName(row),
			hover: (row) => cutFunction(callText(row), 1000),
		},
		figure("begin", "Begins", nanoseconds, (row) => row.begin_ns, { width: 7.5 }),
		figure("bytes", "Bytes", bytes, (row) => row.bytes),
		figure("peak", "Peak", bytes, (row) => row.peak_bytes),
		figure("left", "Left", bytes, (row) => row.left_bytes, { hint: "live at the end of the run" }),
		figure("later", "In a later span", bytes, (row) => row.later_bytes, {
			width: 8,
			hint: "freed while another span ran",
		}),
		figure("outside", "Outside", bytes, (row) => row.after_bytes, { hint: "freed later, outside of spans" }),
		figure("calls", "Calls", count, (row) => row.calls),
		figure("time", "Time", nanoseconds, (row) => row.time_ns),
		{
			id: "thread",
			title: "Thread",
			width: 9,
			value: (row) => (row.tid === null ? "" : threadLabel(row.thread_name, row.tid)),
			text: (row) => (row.tid === null ? "–" : threadLabel(row.thread_name, row.tid)),
		},
		...((sectionOf(model).names ?? []).length
			? [{ id: "span", title: "Span", width: 12, value: (row) => row.name ?? "", text: (row) => shown(row.name ?? "–") }]
			: []),
		figure("number", "Number", count, (row) => row.number, { hint: "in the order in which spans began" }),
	],
	extra: (model) => ({ element: summary(model), keeps: () => true }),
	above: sites,
	rest: (model) => {
		const { spans: all = 0 } = sectionOf(model),
			left = all - spansOf(model).length;
		return left > 0 ? ` that have the most, of ${counted(all, "span")}.` : ".";
	},
});
