// SPDX-License-Identifier: MIT
// msreport's answers as tables: leaks and churn, with what the range adds to them.
import { callColumn, figure, leftOut, lifeColumn, shareBar, shareColumn, verdictTag, view } from "./cells.js";
import { fill, h } from "./dom.js";
import { Grid, shownOf } from "./grid.js";
import { nodesOfId, nodesOfSite } from "./groups.js";
import { callersText, finder, siteOf } from "./names.js";
import { rangeText, sumsOf } from "./range.js";
import { bandOf } from "./spark.js";
import { shown } from "./text.js";
import { bytes, count, counted, many, nanoseconds } from "./units.js";

// A table of a section's rows. `add(row, now)` puts the range's figures on them.
export function answerView({
	title,
	about,
	rows,
	columns,
	sort,
	noun,
	empty,
	nodes,
	add,
	above = () => [],
	rest = () => "",
	extra = null,
}) {
	return (model, state) => {
		const list = rows(model).map((row) => ({ ...row, nodes: nodes(model, row) }));
		const grid = new Grid({
			label: title,
			columns: columns(model),
			sort,
			state,
			empty,
			pick: (row) => row.nodes.length && state.set({ selected: row.nodes[0] }),
			chosen: (row) => row.nodes.includes(state.get().selected),
		});
		const more = extra?.(model, state) ?? null;
		const { element, note, status } = view(title, about, more?.element, grid.element, ...above(model, state));
		function update() {
			const now = state.get(),
				finds = finder(now.search);
			const kept = list.filter((row) => finds(row) && (!more || more.keeps(row)));
			for (const row of kept) add?.(model, row, now);
			grid.setBand(bandOf(model, now));
			grid.empty = list.length ? "No row matches." : empty;
			grid.setRows(kept);
			fill(
				note,
				add && bandOf(model, now)
					? `Columns “in the range” are of ${rangeText(model, now)}; all others of the whole run.`
					: "",
			);
			fill(status, list.length ? [shownOf(kept.length, list.length, noun), rest(model)] : "");
		}
		return { element, update };
	};
}

function sumOf(values, nodes) {
	return nodes.length ? nodes.reduce((sum, n) => sum + values[n], 0) : null;
}

const inRange = { hint: "of the chosen range" };

export const leaks = answerView({
	title: "Leaks",
	noun: "stacks",
	empty: "Nothing is live at the end.",
	sort: "rank",
	about:
		"What was never freed, by stack. Growing stacks come first, the fastest at the top; msreport(1) states the verdicts.",
	rows: (model) => (model.meta.report.sections.leaks?.leaks ?? []).map((row, i) => ({ ...row, rank: i })),
	nodes: (model, row) => nodesOfId(model, row.id),
	add(model, row, now) {
		row.kept = sumOf(sumsOf(model, now).self("kept"), row.nodes);
		row.live = sumOf(sumsOf(model, now).self("live"), row.nodes);
	},
	columns: (model) => [
		callColumn("Site"),
		{
			id: "rank",
			title: "Rank",
			figure: true,
			width: 5,
			value: (row) => row.rank,
			text: (row) => count(row.rank + 1),
		},
		figure("bytes", "Never freed", bytes, (row) => row.bytes, { width: 7 }),
		shareColumn({ width: 6.5, fixed: true }),
		lifeColumn(model),
		{
			id: "verdict",
			title: "Verdict",
			width: 7.5,
			value: (row) => row.verdict,
			fixed: true,
			cell: (row) => verdictTag(row.verdict),
		},
		{
			id: "callers",
			title: "Called by",
			width: 20,
			class: "soft",
			fixed: true,
			cell: (row) => (row.nodes.length ? callersText(model, siteOf(model, row.nodes[0])) : ""),
		},
		figure("blocks", "Blocks", count, (row) => row.blocks),
		...((model.meta.report.sections.overview?.duration_ns ?? 0) < 10e9
			? [figure("rate", "Grew by", bytes, (row) => row.grown_bytes, { hint: "slope of what grows, since then" })]
			: [figure("rate", "A minute", bytes, (row) => row.bytes_per_minute, { hint: "slope of what grows" })]),
		figure("since", "Since", nanoseconds, (row) => row.since_ns, { hint: "last moment of the lowest level" }),
		figure("oldest", "Oldest", nanoseconds, (row) => row.oldest_ns, { hint: "age of the oldest block" }),
		figure("youngest", "Youngest", nanoseconds, (row) => row.youngest_ns, {
			hint: "age of the youngest block",
		}),
		...(model.hasPairs
			? [
					figure("kept", "Kept in the range", bytes, (row) => row.kept, {
						width: 7.5,
						hint: "allocated in the chosen range and live at its end",
					}),
				]
			: []),
		figure("live", "Live at its end", bytes, (row) => row.live, {
			width: 7.5,
			hint: "live at the end of the chosen range",
		}),
		{
			id: "id",
			title: "Id",
			width: 10,
			value: (row) => row.id ?? "",
			fixed: true,
			cell: (row) => h("code", {}, row.id ?? ""),
		},
	],
	extra: verdictFilter,
	above: suppressed,
	rest: smallerLeaks,
});

// A menu of the verdicts that there are.
function verdictFilter(model, state) {
	const there = [
		...new Set((model.meta.report.sections.leaks?.leaks ?? []).map((row) => row.verdict)),
	].sort();
	const menu = h(
		"select",
		{ on: { change: () => state.set({ verdict: menu.value }) } },
		h("option", { value: "" }, "all verdicts"),
		there.map((verdict) => h("option", { value: verdict }, verdict)),
	);
	return {
		element: h("p", { class: "controls" }, h("label", {}, "Show ", menu)),
		keeps(row) {
			menu.value = there.includes(state.get().verdict) ? state.get().verdict : "";
			return !menu.value || row.verdict === menu.value;
		},
	};
}

// The page has the first rows of long answers alone.
function smallerLeaks(model) {
	const { bytes: all = 0, leaks: rows = [] } = model.meta.report.sections.leaks ?? {};
	const left = all - rows.reduce((sum, row) => sum + row.bytes, 0);
	return left > 0 ? `; ${bytes(left)} of ${bytes(all)} belong to smaller ones.` : `; ${bytes(all)} in all.`;
}

function suppressed(model) {
	const rows = model.meta.report.sections.leaks?.suppressed ?? [];
	return rows.length
		? [
				h("h3", {}, "Left out by suppressions"),
				h(
					"ul",
					{},
					rows.map((row) =>
						h(
							"li",
							{},
							h("code", {}, shown(row.pattern)),
							`: ${bytes(row.bytes)} in ${counted(row.blocks, "block")}`,
						),
					),
				),
			]
		: [];
}

const calls = (value) => many(value);

export const churn = answerView({
	title: "Churn",
	noun: "sites",
	empty: "Nothing was allocated.",
	sort: "-calls",
	about:
		"The sites with the most calls. Temporary: freed before its thread allocates again. Lives count allocations.",
	rows: (model) => model.meta.report.sections.churn?.busiest ?? [],
	nodes: nodesOfSite,
	add(model, row, now) {
		row.inRange = sumOf(sumsOf(model, now).self("calls"), row.nodes);
		row.bytesInRange = sumOf(sumsOf(model, now).self("allocated"), row.nodes);
	},
	columns: (model) => [
		callColumn("Site"),
		figure("calls", "Calls", count, (row) => row.calls),
		shareColumn({ width: 6.5, fixed: true }),
		lifeColumn(model),
		figure("bytes", "Allocated", bytes, (row) => row.bytes),
		figure("temporary", "Temporary", count, (row) => row.temporary),
		{
			id: "temporary_share",
			title: "of its calls",
			figure: true,
			width: 6.5,
			value: (row) => row.temporary_share,
			fixed: true,
			cell: (row) => (row.temporary_share === null ? "–" : shareBar(row.temporary_share, 1)),
		},
		figure("p50", "Median life", calls, (row) => row.life_calls_p50, {
			hint: "in allocations of all threads",
		}),
		figure("p99", "99 %", calls, (row) => row.life_calls_p99, {
			hint: "99 % of the lives don't exceed this, in allocations",
		}),
		figure("longest", "Longest", calls, (row) => row.life_calls_max, { hint: "in allocations" }),
		figure("bytes50", "in bytes", bytes, (row) => row.life_bytes_p50, {
			hint: "median life in bytes allocated until the free",
		}),
		figure("time50", "in time", nanoseconds, (row) => row.life_ns_p50, { hint: "median life in time" }),
		figure("inRange", "Calls in the range", count, (row) => row.inRange, { ...inRange, width: 7.5 }),
		figure("bytesInRange", "Bytes in the range", bytes, (row) => row.bytesInRange, {
			...inRange,
			width: 7.5,
		}),
	],
	rest: leftOut("churn", "busiest"),
});
