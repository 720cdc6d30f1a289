// SPDX-License-Identifier: MIT
// What reallocs copied: sites whose blocks grow step by step.
import { answerView } from "./answers.js";
import { callColumn, figure, leftOut } from "./cells.js";
import { nodesOfSite } from "./groups.js";
import { bytes, count } from "./units.js";

// The factor by which the longest chain's block grew at each realloc; null: it has no steps.
function factor(row) {
	const steps = row.chain > 0 && row.chain_from > 0 ? row.chain : 0;
	return steps ? (row.chain_to / row.chain_from) ** (1 / steps) : null;
}

export const reallocs = answerView({
	title: "Reallocs",
	noun: "sites",
	empty: "No realloc copied anything.",
	sort: "-copied",
	about:
		"What reallocs copied, in the whole run. A long chain that grows by a factor near 1 wants its room reserved.",
	rows: (model) => model.meta.report.sections.churn?.reallocs ?? [],
	nodes: nodesOfSite,
	columns: () => [
		callColumn("Site"),
		figure("copied", "Copied", bytes, (row) => row.copied, { width: 7.5 }),
		figure("reallocs", "Reallocs", count, (row) => row.reallocs, { width: 7.5 }),
		figure("moved", "Moved", count, (row) => row.moved, {
			width: 7.5,
			hint: "reallocs that gave another address",
		}),
		figure("chain", "Longest chain", count, (row) => row.chain, { width: 8, hint: "reallocs of one block" }),
		figure("from", "its first size", bytes, (row) => row.chain_from, { width: 7.5 }),
		figure("to", "its last size", bytes, (row) => row.chain_to, { width: 7.5 }),
		figure("factor", "Growth a step", (value) => `× ${value.toFixed(value < 10 ? 3 : 0)}`, factor, {
			width: 7.5,
			hint: "of the longest chain, on average",
		}),
	],
	rest: leftOut("churn", "reallocs"),
});
