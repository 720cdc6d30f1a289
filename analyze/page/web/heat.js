// SPDX-License-Identifier: MIT
// A table whose cells are coloured by the logarithm of their figures.
import { h } from "./dom.js";
import { count, many } from "./units.js";

const LEVELS = 5;

// 0 for nothing, then 1 to LEVELS.
function level(value, most) {
	return value > 0 ? Math.max(1, Math.ceil((LEVELS * Math.log1p(value)) / Math.log1p(most))) : 0;
}

function cell({ value, about }, most) {
	const title = value ? `${count(value)} blocks: ${about}` : null;
	return h("td", { class: `heat-${level(value, most)}`, title }, value ? many(value) : "");
}

// columns: [{title, hint}]; rows: [{title, cells: [{value, about}]}]
export function heatTable({ label, about, corner, columns, rows }) {
	const most = rows.reduce((max, { cells }) => cells.reduce((m, each) => Math.max(m, each.value), max), 1);
	const head = columns.map(({ title, hint }) => h("th", { scope: "col", title: hint }, title));
	const body = rows.map(({ title, cells }) =>
		h(
			"tr",
			{},
			h("th", { scope: "row" }, title),
			cells.map((each) => cell(each, most)),
		),
	);
	return [
		h("p", { class: "about" }, about),
		h(
			"div",
			{ class: "wide heat-box", role: "region", tabindex: 0, "aria-label": label },
			h(
				"table",
				{ class: "heat" },
				h("caption", { class: "unseen" }, label),
				h("thead", {}, h("tr", {}, h("th", { scope: "col" }, corner), head)),
				h("tbody", {}, body),
			),
		),
	];
}
