// SPDX-License-Identifier: MIT
// What to change, and what that saves: msreport's suggestions, and the peak without the sites that make it.
import { answerView } from "./answers.js";
import { callColumn, figure, leftOut, lifeColumn, shareColumn } from "./cells.js";
import { h } from "./dom.js";
import { nodesOfId, nodesOfSite } from "./groups.js";
import { callName, callText } from "./names.js";
import { cutFunction, shown } from "./text.js";
import { bytes, count, counted, share } from "./units.js";

const SAID = 5; // sentences that are shown at once
const LOWER = [
	[10, "sites_for_tenth"],
	[25, "sites_for_quarter"],
	[50, "sites_for_half"],
];

function sectionOf(model) {
	return model.meta.report.sections.savings ?? {};
}

// Those of the site; the stack that the row is most about comes first, to be selected.
function nodesOf(model, row) {
	const first = nodesOfId(model, row.id);
	return [...first, ...nodesOfSite(model, row).filter((n) => !first.includes(n))];
}

function sizes(row) {
	if (row.least === null) return "–";
	return row.least === row.largest ? bytes(row.least) : `${bytes(row.least)} … ${bytes(row.largest)}`;
}

function chain(row) {
	if (row.longest === null) return "–";
	return `${bytes(row.longest_from)} → ${bytes(row.longest_to)} in ${count(row.longest)}`;
}

// "For a peak that is 10 % lower 2 sites must go, for 50 % 4." Of parts that take as many sites the largest is said.
function sitesToGo(section) {
	const there = LOWER.filter(([, key], i) => section[key] > 0 && section[key] !== section[LOWER[i + 1]?.[1]]);
	const words = there.map(([percent, key], i) => {
		return i
			? `for ${percent} % ${count(section[key])}`
			: `For a peak that is ${percent} % lower ${counted(section[key], "site")} must go`;
	});
	return words.length ? `${words.join(", ")}.` : "";
}

// A sentence belongs to each suggestion, in their order; those that follow are about all of them.
function sentences(model) {
	const { notes = [], suggestions = [] } = sectionOf(model);
	const own = notes.slice(0, suggestions.length),
		others = notes.slice(suggestions.length);
	const list = (begin, end) =>
		h(
			"ol",
			{ start: begin + 1 },
			own.slice(begin, end).map((note) => h("li", {}, note)),
		);
	const more = own.length - SAID;
	return h(
		"div",
		{ class: "advice" },
		h("p", { class: "about" }, sitesToGo(sectionOf(model))),
		own.length ? list(0, SAID) : null,
		more > 0 ? h("details", {}, h("summary", {}, `${count(more)} more`), list(SAID, own.length)) : null,
		others.map((note) => h("p", { class: "about" }, note)),
	);
}

// The sites whose blocks go, one after the other, until the peak is down by half. Their order says which go first, so
// this is no table to sort.
function lowerPeaks(model, state) {
	const section = sectionOf(model),
		rows = section.lower_peak ?? [];
	if (!rows.length) return [];
	const head = ["Without the blocks of", "Sites", "Peak", "Lower by"].map((title, i) =>
		h("th", { scope: "col", class: i ? "number" : null }, title),
	);
	return [
		h("h3", {}, "A lower peak"),
		h("p", { class: "about" }, "The peak without the blocks of the first site, of the first two, and so on."),
		h(
			"div",
			{ class: "wide", role: "region", tabindex: 0, "aria-label": "A lower peak" },
			h(
				"table",
				{ class: "bars lower" },
				h("caption", { class: "unseen" }, "The peak without the blocks of sites"),
				h("thead", {}, h("tr", {}, head, h("td", { class: "bar-cell" }))),
				h(
					"tbody",
					{},
					rows.map((row) => lowerPeak(model, state, row, section.peak_bytes)),
				),
			),
		),
	];
}

function lowerPeak(model, state, row, peak) {
	const [node] = nodesOf(model, row),
		name = callName(row, 60);
	const pick = { click: () => state.set({ selected: node }) };
	return h(
		"tr",
		{},
		h(
			"th",
			{ scope: "row", title: callText(row) },
			node === undefined ? name : h("button", { type: "button", class: "plain", on: pick }, name),
		),
		h("td", { class: "number" }, count(row.sites)),
		h("td", { class: "number" }, bytes(row.peak_bytes)),
		h("td", { class: "number" }, share(row.falls)),
		h(
			"td",
			{ class: "bar-cell", "aria-hidden": "true" },
			h("span", { class: "bar-part", style: { "--part": row.peak_bytes / (peak || 1) } }),
		),
	);
}

export const savings = answerView({
	title: "Savings",
	noun: "suggestions",
	empty: "", // a sentence says so
	sort: "rank",
	about: "What to change in the program, and what that saves in the whole run; msreport(1) states the rules.",
	rows: (model) => (sectionOf(model).suggestions ?? []).map((row, i) => ({ ...row, rank: i })),
	nodes: nodesOf,
	columns: (model) => [
		callColumn("Site"),
		figure("rank", "Rank", (rank) => count(rank + 1), (row) => row.rank, { width: 4.5 }),
		{ id: "what", title: "What to do", width: 7.5, value: (row) => row.what, fixed: true },
		shareColumn({ width: 6.5, fixed: true, hint: "of all calls, of all bytes or of the peak, the largest of them" }),
		figure("calls", "Calls saved", count, (row) => row.saved_calls),
		figure("copied", "Not copied", bytes, (row) => row.saved_copied_bytes),
		figure("off", "Off the peak", bytes, (row) => row.saved_peak_bytes),
		lifeColumn(model),
		figure("blocks", "Blocks", count, (row) => row.blocks),
		figure("places", "Places", count, (row) => row.places, { hint: "stacks by thread for which the rule holds" }),
		{ id: "sizes", title: "Sizes", figure: true, width: 10, value: (row) => row.largest, text: sizes, fixed: true },
		figure("most", "Live at once", count, (row) => row.most_live, { hint: "the most blocks of each place, added up" }),
		figure("held", "Kept instead", bytes, (row) => row.held_bytes, { hint: "bytes that stay allocated" }),
		figure("ladders", "Buffers", count, (row) => row.ladders, { hint: "that grew in steps" }),
		{
			id: "chain",
			title: "Longest growth",
			hint: "of one buffer: its first size, its last one, and the steps",
			figure: true,
			width: 13,
			value: (row) => row.longest,
			text: chain,
			fixed: true,
		},
		figure("early", "Freed earlier", bytes, (row) => row.early_bytes),
		{
			id: "before",
			title: "Before",
			width: 14,
			hint: "whose growth the earlier free precedes",
			value: (row) => row.before,
			text: (row) => (row.before === null ? "–" : cutFunction(shown(row.before), 60)),
			fixed: true,
		},
	],
	extra: (model) => ({ element: sentences(model), keeps: () => true }),
	above: lowerPeaks,
	rest: leftOut("savings", "suggestions"),
});
