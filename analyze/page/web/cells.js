// SPDX-License-Identifier: MIT
// Columns and cells that several tables have, and the frame of a view.
import { h } from "./dom.js";
import { callName, callText } from "./names.js";
import { spark } from "./spark.js";
import { cutFunction } from "./text.js";
import { count, METRICS, share } from "./units.js";

export function verdictTag(verdict) {
	return verdict && verdict !== "not judged"
		? h("span", { class: `verdict ${verdict.replace(" ", "-")}` }, verdict)
		: h("span", { class: "soft" }, "not judged");
}

// A column of figures. `none`: what is shown of what isn't known.
export function figure(id, title, format, value, more = {}) {
	const text = (row) => ((value(row) ?? null) === null ? (more.none ?? "–") : format(value(row)));
	return { id, title, figure: true, width: 6.5, value, text, ...more };
}

// A share as figure and bar.
export function shareBar(part, whole) {
	return h(
		"span",
		{ class: "share" },
		h("span", {
			class: "share-bar",
			"aria-hidden": "true",
			style: { "--share": whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0 },
		}),
		share(part, whole),
	);
}

// The column of shares that msreport gives its rows; `more` differs by table.
export function shareColumn(more) {
	return {
		id: "share",
		title: "Share",
		figure: true,
		value: (row) => row.share,
		cell: (row) => shareBar(row.share, 1),
		...more,
	};
}

// A small graph of what was live over the run.
export function lifeColumn(model) {
	return {
		id: "life",
		title: "Live over the run",
		width: 7.5,
		fixed: true,
		late: true,
		cell: (row) =>
			row.nodes.length ? spark(model.lifeOfAll(row.nodes), model.border) : h("span", { class: "soft" }, "–"),
	};
}

// What a table of msreport's lacks, because the page has the first rows of long ones alone.
export function leftOut(section, table) {
	return (model) => {
		const left = model.meta.report.sections[section]?.left_out?.[table] ?? 0;
		return left > 0 ? `; ${count(left)} smaller ones are left out (msreport --top).` : ".";
	};
}

export function view(title, about, ...parts) {
	const note = h("span");
	const status = h("span", { role: "status" });
	return {
		note,
		status,
		element: h(
			"section",
			{ class: "view" },
			h("h2", {}, title),
			h("p", { class: "about" }, about),
			h("p", { class: "about" }, status, " ", note),
			...parts,
		),
	};
}

export function callColumn(title) {
	return {
		id: "name",
		title,
		value: (row) => row.function,
		cell: (row) => callName(row),
		hover: (row) => cutFunction(callText(row), 1000),
	};
}

// Chooses the state's metric.
export function metricMenu(state) {
	const menu = h(
		"select",
		{ on: { change: () => state.set({ metric: menu.value }) } },
		METRICS.map(({ id, title }) => h("option", { value: id }, title)),
	);
	return { element: h("label", {}, "Show ", menu), update: () => (menu.value = state.get().metric) };
}
