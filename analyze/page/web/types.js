// SPDX-License-Identifier: MIT
// What is live by the type of the objects, and padding that another order of members saves.
import { answerView } from "./answers.js";
import { figure, leftOut, shareColumn } from "./cells.js";
import { h } from "./dom.js";
import { nodesOfId } from "./groups.js";
import { callName, callText } from "./names.js";
import { cutFunction, shown } from "./text.js";
import { bytes, count } from "./units.js";

function sectionOf(model) {
	return model.meta.report.sections.types ?? {};
}

export function hasTypes(model) {
	return (sectionOf(model).types ?? []).length > 0;
}

// Rows are found by type, container and site.
function rowOf(row) {
	const { function: name, file, line, module, via } = row;
	const site = { function: name, file, line, module, via };
	return { ...row, site, function: `${row.type} ${row.container ?? ""} ${name}` };
}

function siteCell({ site }) {
	return h("span", { title: callText(site) }, callName(site, 40));
}

function typeCell({ type }) {
	return h("code", { title: shown(type) }, cutFunction(shown(type), 60));
}

export const types = answerView({
	title: "Types",
	noun: "types",
	empty: "No type is known.",
	sort: "-bytes",
	about:
		"What is live at the peak by type, from debug information, names and sources; msreport(1) states the rules.",
	rows: (model) => (sectionOf(model).types ?? []).map(rowOf),
	nodes: (model, row) => nodesOfId(model, row.id),
	columns: () => [
		{ id: "type", title: "Type", width: 22, value: (row) => row.type, cell: typeCell },
		{
			id: "container",
			title: "In",
			width: 10,
			value: (row) => row.container ?? "",
			text: (row) => row.container ?? "–",
		},
		figure("bytes", "Live at the peak", bytes, (row) => row.bytes, { width: 8 }),
		shareColumn({ width: 6.5, fixed: true }),
		figure("objects", "Objects", count, (row) => row.objects),
		figure("size", "Size", count, (row) => row.size, { hint: "bytes of an object" }),
		{ id: "trust", title: "How sure", width: 6, value: (row) => row.trust },
		{ id: "site", title: "Most at", width: 18, class: "soft", value: (row) => row.site.function, cell: siteCell },
		figure("end", "Live at the end", bytes, (row) => row.end_bytes),
		figure("allocated", "Allocated", bytes, (row) => row.allocated_bytes),
		figure("calls", "Calls", count, (row) => row.calls),
	],
	above: (model) => (sectionOf(model).notes ?? []).map((note) => h("p", { class: "about" }, note)),
	rest: leftOut("types", "types"),
});
