// SPDX-License-Identifier: MIT
// Calls that are wrong, or that gave nothing.
import { answerView } from "./answers.js";
import { figure } from "./cells.js";
import { h } from "./dom.js";
import { callName, callText } from "./names.js";
import { nodesOfId } from "./groups.js";
import { shown } from "./text.js";
import { bytes, count, nanoseconds } from "./units.js";

const SAID = [
	["mismatches", "blocks freed by another function than they were allocated for"],
	["double_frees", "blocks freed twice"],
	["unknown_blocks", "blocks freed without having been allocated"],
	["failed", "requests that gave nothing"],
	["zero_sized", "requests for no bytes"],
];

function side(row, which) {
	return row[`${which}_function`]
		? {
				function: row[`${which}_function`],
				file: row[`${which}_file`],
				line: row[`${which}_line`],
				module: null,
				via: null,
			}
		: null;
}

function siteCell(row, which) {
	const call = side(row, which);
	return call
		? h(
				"span",
				{ title: callText(call) },
				h("code", {}, shown(row[which] ?? "?")),
				" in ",
				callName(call, 60),
			)
		: h("span", { class: "soft" }, row[which] ?? "–");
}

export const errors = answerView({
	title: "Errors",
	noun: "rows",
	empty: "No wrong call, and none that failed.",
	sort: "-count",
	about:
		"Wrong frees, failed and empty requests, in the whole run. Sites of frees are known with msrec --free-stacks=yes.",
	rows: (model) =>
		(model.meta.report.sections.errors?.errors ?? []).map((row) => ({
			...row,
			function: `${row.call_function ?? ""} ${row.block_function ?? ""}`,
		})),
	nodes: (model, row) => nodesOfId(model, row.block_id ?? row.call_id),
	columns: () => [
		{ id: "error", title: "Error", value: (row) => row.error },
		figure("count", "Count", count, (row) => row.count),
		figure("first", "First at", nanoseconds, (row) => row.first_ns),
		figure("size", "Size", bytes, (row) => row.size, { hint: "of the block, or of the request" }),
		{
			id: "call",
			title: "Call",
			width: 22,
			value: (row) => row.call_function ?? "",
			cell: (row) => siteCell(row, "call"),
		},
		{
			id: "block",
			title: "Block from",
			width: 22,
			value: (row) => row.block_function ?? "",
			cell: (row) => siteCell(row, "block"),
		},
	],
	above: (model) => {
		const section = model.meta.report.sections.errors ?? {};
		const there = SAID.filter(([key]) => section[key] > 0);
		return there.length
			? [
					h("h3", {}, "In all"),
					h(
						"ul",
						{},
						there.map(([key, text]) => h("li", {}, `${text}: ${count(section[key])}`)),
					),
				]
			: [];
	},
});
