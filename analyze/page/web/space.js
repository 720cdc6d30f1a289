// SPDX-License-Identifier: MIT
// What mswhatif found with its players: advice, the address space over time, which sites keep pages, and the runs.
import { answerView } from "./answers.js";
import { callColumn, figure } from "./cells.js";
import { h } from "./dom.js";
import { nodesOfId, nodesOfSite } from "./groups.js";
import { cellOf, spacePicture, WHAT } from "./space_picture.js";
import { bytes, count, nanoseconds } from "./units.js";

const KEPT = [
	["keepers", "kept", "kept_bytes"],
	["keepers", "pages", "page_bytes"],
	["leavers", "left", "left_bytes"],
	["rounding", "rounded", "rounded_bytes"],
];

export const hasSpace = (model) => Boolean(model.space && model.meta.report.sections.whatif);

// A row for each site of the three tables.
function sitesOf({ meta }) {
	const blame = meta.report.sections.blame ?? {},
		sites = new Map();
	for (const [table, key, column] of KEPT)
		for (const row of blame[table] ?? []) {
			const id = [row.function, row.file, row.line, row.module].join("\n"),
				site = sites.get(id) ?? { ...row, kept: 0, pages: 0, left: 0, rounded: 0 };
			site[key] = row[column];
			site.live = row.live_bytes ?? site.live;
			site.blocks = row.blocks ?? site.blocks;
			sites.set(id, site);
		}
	return [...sites.values()];
}

const keepers = answerView({
	title: "What keeps pages",
	noun: "sites",
	empty: "No page has holes, and no block was rounded up.",
	sort: "-kept",
	about:
		"At the moment of the blame (mswhatif --at): holes that live blocks keep resident, by the site of these blocks, " +
		"and the site whose freed blocks are the holes.",
	rows: sitesOf,
	nodes: (model, row) => {
		const first = nodesOfId(model, row.id);
		return [...first, ...nodesOfSite(model, row).filter((n) => !first.includes(n))];
	},
	columns: () => [
		callColumn("Site"),
		figure("kept", "Holes kept", bytes, (row) => row.kept),
		figure("pages", "On pages", bytes, (row) => row.pages),
		figure("left", "Holes left", bytes, (row) => row.left, { hint: "bytes of its freed blocks that are holes" }),
		figure("rounded", "Rounded up", bytes, (row) => row.rounded, { hint: "what a pool of its own would save" }),
		figure("live", "Live", bytes, (row) => row.live),
		figure("blocks", "Blocks", count, (row) => row.blocks),
	],
});

function table(label, head, rows) {
	const cell = (value, i) =>
		i ? h("td", { class: "number" }, value) : h("th", { scope: "row" }, value);
	return h(
		"div",
		{ class: "wide", role: "region", tabindex: 0, "aria-label": label },
		h(
			"table",
			{ class: "bars plain" },
			h("caption", { class: "unseen" }, label),
			h(
				"thead",
				{},
				h(
					"tr",
					{},
					head.map((title, i) => h("th", { scope: "col", class: i ? "number" : null }, title)),
				),
			),
			h(
				"tbody",
				{},
				rows.map((row) => h("tr", {}, row.map(cell))),
			),
		),
	);
}

function known(format, value) {
	return (value ?? null) === null ? "–" : format(value);
}

function runs({ runs: list = [] }) {
	return table(
		"Allocators and settings",
		["Allocator and settings", "Peak RSS", "At the peak", "At the end", "In calls", "System calls"],
		list.map((run) => [
			[run.best ? "* " : "", run.allocator, " ", run.error ?? run.settings],
			known(bytes, run.peak_resident_bytes),
			known(bytes, run.live_peak_resident_bytes),
			known(bytes, run.end_resident_bytes),
			known(nanoseconds, run.call_ns),
			known(count, run.system_calls),
		]),
	);
}

function bounds({ bounds: list = [] }) {
	return table(
		"Bounds",
		["Bound", "Peak", "At the peak", "At the end"],
		list.map((row) => [row.bound, bytes(row.peak_bytes), bytes(row.live_peak_bytes), bytes(row.end_bytes)]),
	);
}

function moments({ space }) {
	const rows = Array.from(space.time, (time, column) => {
		const sums = { resident: 0, live: 0, holes: 0, empty: 0, rest: 0 };
		for (let row = 0; row < space.size.length; row++) {
			const cell = cellOf(space, row, column);
			for (const key in sums) sums[key] += cell[key];
		}
		return [nanoseconds(time), bytes(sums.resident), ...WHAT.map(([key]) => bytes(sums[key]))];
	});
	return h(
		"details",
		{},
		h("summary", {}, "The figures of all moments"),
		table("What pages hold over time", ["Time", "Resident", ...WHAT.map(([, name]) => name)], rows),
	);
}

function sentences({ whatif, blame }) {
	return h(
		"ul",
		{ class: "advice" },
		[...(whatif.notes ?? []), ...(blame?.notes ?? [])].map((note) => h("li", {}, note)),
	);
}

export function space(model, state) {
	const { sections } = model.meta.report,
		[first] = sections.whatif.runs,
		picture = spacePicture(model, state),
		sites = keepers(model, state);
	const element = h(
		"section",
		{ class: "view" },
		h("h2", {}, "Address space"),
		h(
			"p",
			{ class: "about" },
			"What mswhatif measured when it made the recorded calls again. The picture is that of ",
			`${first.allocator} ${first.settings}`.trimEnd(),
			": a column for each hundredth of the calls, without what is never resident.",
		),
		sentences(sections),
		picture.element,
		moments(model),
		sites.element,
		h("h3", {}, "Allocators and settings"),
		h(
			"p",
			{ class: "about" },
			"* No other one has a lower peak in as little time, or takes less time for as low a peak.",
		),
		runs(sections.whatif),
		h("h3", {}, "Bounds"),
		h(
			"p",
			{ class: "about" },
			"No allocator can take less than what is live. Pools are models without headers and caches.",
		),
		bounds(sections.whatif),
	);
	function update() {
		picture.update();
		sites.update();
	}
	return { element, update };
}
