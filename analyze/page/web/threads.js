// SPDX-License-Identifier: MIT
// What each thread allocates and frees, and who frees whose blocks.
import { h } from "./dom.js";
import { Grid } from "./grid.js";
import { heatTable } from "./heat.js";
import { figure, shareColumn } from "./cells.js";
import { cut, shown, tester } from "./text.js";
import { bytes, count, counted } from "./units.js";

const MATRIX = 24; // threads in the matrix; the others are summed up

const UNKNOWN = "This trace doesn't know which blocks were freed.";

export function threadLabel(name, tid) {
	return name ? `${cut(shown(name), 40)} (${tid})` : `thread ${tid}`;
}

function table(threads, state) {
	return new Grid({
		label: "Threads",
		sort: "-calls",
		state,
		empty: "No thread allocated or freed.",
		columns: [
			{ id: "name", title: "Thread", value: (row) => threadLabel(row.name, row.tid) },
			figure("calls", "Calls", count, (row) => row.calls, { width: 8 }),
			shareColumn({ width: 7 }),
			figure("bytes", "Allocated", bytes, (row) => row.bytes, { width: 7.5 }),
			figure("frees", "Frees", count, (row) => row.frees, { width: 8, hint: "blocks that it freed" }),
			figure("foreign", "of others", count, (row) => row.foreign, {
				width: 8,
				hint: "blocks of other threads that it freed",
			}),
			figure("peak", "Own peak", bytes, (row) => row.own_peak_bytes, {
				width: 7.5,
				hint: "most bytes of its blocks live at once",
			}),
			figure("end", "Never freed", bytes, (row) => row.end_bytes, { width: 7.5 }),
			figure("blocks", "Blocks", count, (row) => row.end_blocks, { hint: "never freed" }),
		],
	});
}

// Blocks by the thread that allocated and the one that freed them. A thread's own frees are those that weren't others'.
function flows(threads, others) {
	const first = threads.slice(0, MATRIX),
		index = new Map(first.map((thread, i) => [thread.tid, i]));
	const n = threads.length > MATRIX ? MATRIX + 1 : first.length;
	const at = (tid) => index.get(tid) ?? n - 1;
	const blocks = Array.from({ length: n }, () => new Array(n).fill(0));
	const freed = Array.from({ length: n }, () => new Array(n).fill(0));
	for (const thread of threads)
		if (thread.foreign !== null) blocks[at(thread.tid)][at(thread.tid)] += thread.frees - thread.foreign;
	for (const row of others) {
		blocks[at(row.allocated_by)][at(row.freed_by)] += row.blocks;
		freed[at(row.allocated_by)][at(row.freed_by)] += row.bytes;
	}
	const names = first.map((thread) => threadLabel(thread.name, thread.tid));
	return {
		names: n > first.length ? [...names, `${count(threads.length - MATRIX)} others`] : names,
		blocks,
		freed,
	};
}

function matrix(threads, others) {
	const { names, blocks, freed } = flows(threads, others);
	const about = (i, k) => `${names[i]} → ${names[k]}${freed[i][k] ? `, ${bytes(freed[i][k])}` : ""}`;
	return heatTable({
		label: "Who frees whose blocks",
		about: "Blocks by the thread that allocated (down) and the thread that freed them (across).",
		corner: "Allocated by \\ freed by",
		columns: names.map((title) => ({ title })),
		rows: names.map((title, i) => ({
			title,
			cells: blocks[i].map((value, k) => ({ value, about: about(i, k) })),
		})),
	});
}

export function threads(model, state) {
	const section = model.meta.report.sections.threads ?? { count: 0, threads: [] };
	const others = section.freed_by_others ?? [];
	const grid = table(section.threads, state);
	const foreign = others.reduce((sum, row) => sum + row.blocks, 0);
	const known = section.threads.some((thread) => thread.foreign !== null);
	const element = h(
		"section",
		{ class: "view" },
		h("h2", {}, "Threads"),
		h(
			"p",
			{ class: "about" },
			`${counted(section.count, "thread")} in the whole run; the table has those that allocated or freed. `,
			foreign
				? `Freed by another thread than had allocated: ${counted(foreign, "block")}.`
				: known && section.threads.length > 1
					? "Each freed its own blocks only."
					: "",
		),
		grid.element,
		h("h3", {}, "Who frees whose blocks"),
		known
			? matrix(section.threads, others)
			: h("p", { class: "about" }, section.threads.length ? UNKNOWN : "Nothing was freed."),
	);
	function update() {
		const test = tester(state.get().search) ?? (() => true);
		grid.setRows(section.threads.filter((thread) => test(threadLabel(thread.name, thread.tid))));
	}
	return { element, update };
}
