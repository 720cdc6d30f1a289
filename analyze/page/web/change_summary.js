// SPDX-License-Identifier: MIT
// The head of a comparison's page: what was compared, what changed in sentences, and the sums with links to the lists.
import { figuresOf, ratio, signed } from "./change_lens.js";
import { LISTS } from "./change_tables.js";
import { h } from "./dom.js";
import { head } from "./summary.js";
import { file, show } from "./text.js";
import { nanoseconds } from "./units.js";

const section = (model) => model.meta.report.sections.diff;

export function changeHeader(model, state) {
	const { old, new: now, runs, old_duration_ns: before, new_duration_ns: after } = section(model),
		{ olds = [] } = model.meta.page;
	const from = runs > 1 ? `the median of ${runs} recordings` : file(olds[0]);
	const run = [
		old === now ? now : null,
		old === now ? null : `old: ${old}`,
		old === now ? null : `new: ${now}`,
		`${nanoseconds(before)}, then ${nanoseconds(after)}`,
	];
	return head(`${show(from, 120)} → ${show(file(model.meta.trace), 120)}`, run.filter(Boolean), state);
}

// Links that follow the state: link(partial, ...children).
function linker(state) {
	const links = [];
	return {
		link(partial, ...children) {
			const made = h("a", { href: state.href(partial) }, ...children);
			made.addEventListener("click", (event) => {
				if (event.ctrlKey || event.metaKey || event.shiftKey) return;
				event.preventDefault();
				state.set(partial);
				document.getElementById("main").scrollIntoView({ block: "nearest" });
			});
			links.push([made, partial]);
			return made;
		},
		update: () => links.forEach(([made, partial]) => made.setAttribute("href", state.href(partial))),
	};
}

export function changeSummary(model, state) {
	const links = linker(state),
		{ notes = [], runs } = section(model);
	const warns = (note) => /damaged|cut|Estimates|not compared/.test(note);
	const sentences = notes.map((note) => h("li", { class: warns(note) ? "warn" : null }, h("span", {}, note)));
	if (runs > 1)
		sentences.push(
			h(
				"li",
				{},
				h(
					"span",
					{},
					"Medians of the old recordings are those of each stack, so they need not add up to the totals.",
				),
			),
		);
	const element = h(
		"section",
		{ "aria-label": "Summary", class: "sheet change-summary" },
		sentences.length ? h("ul", { class: "out", "aria-label": "What changed" }, sentences) : null,
		sums(model, links.link),
	);
	return { element, update: links.update };
}

// Rows of msreport's two tables of sums.
function sums(model, link) {
	const { bytes, counts, runs } = section(model),
		said = new Map([...bytes, ...counts].map((row) => [row.figure, row]));
	const headings = ["Change", "in %", "Old", "New", ...(runs > 1 ? ["Noise"] : []), ...Object.values(LISTS)];
	return h(
		"div",
		{ class: "wide", tabindex: 0, role: "region", "aria-label": "Sums" },
		h(
			"table",
			{ class: "sums" },
			h("caption", { class: "unseen" }, "Sums of both sides, and of the lists"),
			h(
				"thead",
				{},
				h(
					"tr",
					{},
					h("th", { scope: "col" }, "Figure"),
					headings.map((title) => h("th", { scope: "col", class: "number" }, title)),
				),
			),
			h(
				"tbody",
				{},
				figuresOf(model)
					.filter(({ id }) => said.has(id))
					.map((figure) => sumRow(model, link, figure, said.get(figure.id), runs)),
			),
		),
	);
}

function sumRow(model, link, { id, title, unit }, row, runs) {
	const number = (...children) => h("td", { class: "number" }, ...children);
	const flame = { view: "flame", metric: id, zoom: "" },
		counts = Math.abs(row.change) > (row.noise ?? 0);
	const listed = (list) => {
		const n = model.changes.figures.get(id).listed[list],
			sum = row[list === "new" ? "appeared" : list];
		const text = sum === null || sum === undefined ? String(n) : signed(unit, sum);
		return number(
			n ? link({ view: "stacks", metric: id, list, sort: "" }, text) : h("span", { class: "soft" }, "–"),
		);
	};
	return h(
		"tr",
		{},
		h("th", { scope: "row" }, id === "life" ? title : link(flame, title)),
		number(
			h("span", { class: !counts ? "soft" : row.change > 0 ? "more" : "less" }, signed(unit, row.change)),
		),
		number(ratio(row.old, row.change)),
		number(unit(row.old)),
		number(unit(row.new)),
		runs > 1 ? number(unit(row.noise ?? 0)) : null,
		Object.keys(LISTS).map(listed),
	);
}
