// SPDX-License-Identifier: MIT
// Tables of sites, functions, lines, libraries and stacks over the chosen range: their own part, and what they called.
import { figure, metricMenu, shareBar, verdictTag, view } from "./cells.js";
import { fill, h } from "./dom.js";
import { Grid, shownOf } from "./grid.js";
import { Groups, nodesBelow } from "./groups.js";
import { callersText, callName, callOfFrame, callText, finder, path, siteOf } from "./names.js";
import { nowOf, rangeText, sumsOf } from "./range.js";
import { bandOf, spark } from "./spark.js";
import { cutFunction, shown } from "./text.js";
import { bytes, count, many, metric, nanoseconds, share } from "./units.js";

// The metrics beside the chosen one. What is kept wants a trace with identities; a moment has what is live.
function also(model, { moment }) {
	if (moment) return ["live", "liveBlocks"];
	return ["live", "kept", "allocated", "calls", "peak"].filter((id) => id !== "kept" || model.hasPairs);
}

const SINGULAR = { sites: "Site", functions: "Function", lines: "Line", libraries: "Library" };
// What a table shows of its rows at the moment: figures by the row's number `i`.
class Sheet {
	fill(now, all, self, total, figures) {
		Object.assign(this, { now, all, self, total, figures, lists: [all, ...Object.values(figures)] });
	}

	// In a moment there are no calls.
	mean(i) {
		const { calls, allocated } = this.figures;
		return calls?.[i] ? allocated[i] / calls[i] : null;
	}

	isEmpty(i) {
		for (const values of this.lists) if (values[i] !== 0) return false;
		return true;
	}
}

/* ---- Functions, lines, libraries, sites ---- */

function groupColumns(model, by, sheet) {
	const { now } = sheet;
	const chosen = metric(now.metric);
	const self = by === "sites";
	const width = { width: 7 };
	const columns = [
		{
			id: "name",
			title: SINGULAR[by],
			value: (row) => row.name,
			cell: (row) => row.label(),
			hover: (row) => row.hover(),
		},
		figure("all", chosen.title, chosen.unit, (row) => sheet.all[row.i], {
			...width,
			hint: self ? chosen.noun : `${chosen.noun}, with all that it called`,
		}),
		{
			id: "share",
			title: "Share",
			figure: true,
			width: 6.5,
			value: (row) => sheet.all[row.i],
			cell: (row) => shareBar(sheet.all[row.i], sheet.total),
		},
	];
	if (!self)
		columns.push(
			figure("self", "Self", chosen.unit, (row) => sheet.self[row.i], {
				...width,
				hint: `${chosen.noun}: of its own`,
			}),
		);
	columns.push({
		id: "life",
		title: "Live over the run",
		width: 7.5,
		fixed: true,
		late: true,
		cell: (row) => row.graph(),
	});
	for (const id of also(model, now).filter((each) => each !== chosen.id))
		columns.push(
			figure(id, metric(id).short, metric(id).unit, (row) => sheet.figures[id][row.i], {
				...width,
				hint: metric(id).noun,
			}),
		);
	columns.push(
		figure("mean", "Mean size", bytes, (row) => sheet.mean(row.i), {
			hint: "bytes allocated by calls in the range",
		}),
	);
	if (!self) {
		columns.push(
			figure("own", "Own peak", bytes, (row) => row.reported?.own_peak_bytes, {
				hint: "most bytes live at once in the whole run, whenever that was",
			}),
		);
		columns.push(
			figure(
				"recycling",
				"Recycling",
				(value) => value.toFixed(1),
				(row) => row.reported?.recycling,
				{ hint: "bytes allocated for each byte of its own peak, in the whole run" },
			),
		);
	}
	return columns;
}

function reportedRows(model, by) {
	const rows = model.meta.report.sections[by]?.[by] ?? [];
	return new Map(rows.map((row) => [reportKey(by, row), row]));
}

function reportKey(by, call) {
	if (by === "libraries") return call.module || call.function;
	const line = by === "lines" ? `\n${call.file ?? ""}\n${call.line || ""}` : "";
	return `${call.function}\n${call.module ?? ""}${line}`;
}

function groupView(by, title, about) {
	return (model, state) => {
		const groups = new Groups(model, by),
			reported = reportedRows(model, by),
			sheet = new Sheet();
		const self = by === "sites";
		const rows = groups.frames.map((_, i) => groupRow(model, groups, i, reported));
		const grid = new Grid({
			label: title,
			columns: [],
			sort: "-all",
			state,
			pick: (row) => state.set({ selected: groups.largest(row.i, valuesOf(sheet.now)) }),
			chosen: (row) => groups.owner[state.get().selected] === row.i,
		});
		const { element, note, status } = view(title, about, grid.element);

		// By node: what a group's values are made of.
		function valuesOf(now) {
			return self ? sumsOf(model, now).self(now.metric) : sumsOf(model, now).inclusive(now.metric);
		}

		function sumUp(now) {
			const at = sumsOf(model, now);
			const sum = (id) => (self ? groups.self(at.self(id)) : groups.inclusive(at.inclusive(id)));
			const figures = Object.fromEntries(also(model, now).map((id) => [id, sum(id)]));
			const all = figures[now.metric] ?? sum(now.metric);
			sheet.fill(now, all, self ? all : groups.self(at.self(now.metric)), at.total(now.metric), figures);
		}

		function update() {
			const now = nowOf(state);
			sumUp(now);
			showRows({ model, grid, sheet, rows, note, status, noun: by }, finder(now.search), () =>
				groupColumns(model, by, sheet),
			);
		}
		return { element, update };
	};
}

// What of a group's row is the same in each range.
function groupRow(model, groups, i, reported) {
	const { by } = groups;
	const frame = callOfFrame(model, groups.frames[i]);
	const call =
		by === "libraries" ? { function: frame.module } : by === "functions" ? { ...frame, line: null } : frame;
	return {
		i,
		call,
		name: shown(call.function),
		reported: reported.get(reportKey(by, frame)),
		label: () => callName(call),
		hover: () => cutFunction(callText(call), 1000),
		graph() {
			const { members } = groups,
				nodes = by === "sites" ? members[i] : nodesBelow(model, members[i]);
			return spark(model.lifeOfAll(nodes), model.border);
		},
	};
}

// Shows the rows that have figures and that a search finds, and says how many these are.
function showRows({ model, grid, sheet, rows, note, status, noun }, finds, columns) {
	const { now, total } = sheet;
	const there = rows.filter((row) => !sheet.isEmpty(row.i)),
		found = now.search ? there.filter((row) => finds(row.call, row.i)) : there;
	const columnsOf = `${now.metric} ${now.moment}`;
	if (grid.columnsOf !== columnsOf) grid.setColumns(columns());
	grid.columnsOf = columnsOf;
	grid.setBand(bandOf(model, now));
	grid.empty = there.length ? "No row matches." : "Nothing has a figure in this range.";
	grid.setRows(found);
	fill(note, rangeNote(model, now));
	const { unit } = metric(now.metric);
	const own = found.reduce((sum, row) => sum + sheet.self[row.i], 0);
	fill(
		status,
		shownOf(found.length, there.length, noun),
		now.search
			? ` match “${shown(now.search)}”: ${unit(own)} of their own, ${share(own, total)} of ${unit(total)}.`
			: `; ${unit(total)} in all.`,
	);
}

function rangeNote(model, now) {
	const others = sumsOf(model, now)
		.self(now.metric)
		.reduce((sum, value, n) => (model.rest[n] ? sum + value : sum), 0);
	const total = sumsOf(model, now).total(now.metric);
	const exact =
		now.metric.startsWith("kept") && model.hasPairs && !model.pairsExact(now.from, now.until)
			? " What is kept is known for wider borders only."
			: "";
	const small = others
		? ` ${metric(now.metric).unit(others)} (${share(others, total)}) are of stacks too small to be told apart.`
		: "";
	return `${metric(now.metric).title}, ${rangeText(model, now)}.${exact}${small}`;
}

const functions = groupView(
	"functions",
	"Functions",
	"Each function with all that it called, and its own part. A row selects its largest call.",
);
const lines = groupView(
	"lines",
	"Lines",
	"Each line of a function with all that it called, and its own part.",
);
const libraries = groupView(
	"libraries",
	"Libraries",
	"Programs and libraries with all that they called, and their own part.",
);
const sites = groupView(
	"sites",
	"Sites",
	"A site is the innermost call that is no allocator, container or part of the C library.",
);

/* ---- Stacks ---- */

function stackColumns(model, sheet) {
	const { now } = sheet;
	const chosen = metric(now.metric);
	const fact = (id) => (row) => (Number.isFinite(model.facts[id][row.i]) ? model.facts[id][row.i] : null);
	return [
		{
			id: "name",
			title: "Stack",
			value: (row) => row.name,
			cell: (row) => row.label(),
			hover: (row) => row.hover(),
		},
		figure("all", chosen.title, chosen.unit, (row) => sheet.all[row.i], { width: 7, hint: chosen.noun }),
		{
			id: "share",
			title: "Share",
			figure: true,
			width: 6.5,
			value: (row) => sheet.all[row.i],
			cell: (row) => shareBar(sheet.all[row.i], sheet.total),
		},
		{
			id: "life",
			title: "Live over the run",
			width: 7.5,
			fixed: true,
			late: true,
			cell: (row) => row.graph(),
		},
		{
			id: "callers",
			title: "Called by",
			width: 20,
			class: "soft",
			fixed: true,
			cell: (row) => row.callers(),
		},
		...also(model, now)
			.filter((id) => id !== chosen.id)
			.map((id) =>
				figure(id, metric(id).short, metric(id).unit, (row) => sheet.figures[id][row.i], {
					hint: metric(id).noun,
				}),
			),
		{
			id: "verdict",
			title: "Verdict",
			width: 7.5,
			fixed: true,
			value: (row) => model.verdictOf(row.i) ?? "",
			cell: (row) => verdictTag(model.verdictOf(row.i)),
		},
		figure("mean", "Mean size", bytes, (row) => sheet.mean(row.i), {
			hint: "bytes allocated by calls in the range",
		}),
		figure("least", "Least", bytes, fact("least"), { hint: "smallest size, whole run", fixed: true }),
		figure("most", "Most", bytes, fact("most"), { hint: "largest size, whole run", fixed: true }),
		figure("temporary", "Temporary", count, fact("temporary"), {
			hint: "freed before their thread's next allocation, whole run",
			fixed: true,
		}),
		figure("p50", "Median life", many, fact("calls50"), {
			hint: "allocations between a block's and its free, whole run",
			fixed: true,
		}),
		figure("p99", "99 %", many, fact("calls99"), {
			hint: "99 % of the lives don't exceed this, in allocations",
			fixed: true,
		}),
		figure("time50", "in time", nanoseconds, fact("ns50"), { hint: "median life in time", fixed: true }),
		{ id: "threads", title: "Threads", width: 12, fixed: true, cell: (row) => threadsOf(model, row.i) },
		{
			id: "id",
			title: "Id",
			width: 10,
			fixed: true,
			value: (row) => model.stackId(row.i),
			cell: (row) => h("code", {}, model.stackId(row.i)),
		},
	];
}

// The threads that allocated most of a stack.
function threadsOf(model, n) {
	return model
		.threadsOf(n)
		.map(({ thread }) => shown(model.threads[thread]?.name || `thread ${model.threads[thread]?.tid}`))
		.filter((name, i, all) => all.indexOf(name) === i)
		.join(", ");
}

function stacks(model, state) {
	const sheet = new Sheet();
	const rows = new Array(model.nodeCount);
	const grid = new Grid({
		label: "Stacks",
		columns: [],
		sort: "-all",
		state,
		pick: (row) => state.set({ selected: row.i }),
		chosen: (row) => row.i === state.get().selected,
	});
	const { element, note, status } = view(
		"Stacks",
		"Whole stacks by their site. The details show the calls; msreport --stack=ID shows a stack's whole life.",
		grid.element,
	);

	function update() {
		const now = nowOf(state),
			at = sumsOf(model, now);
		const all = at.self(now.metric),
			figures = Object.fromEntries(also(model, now).map((id) => [id, at.self(id)]));
		sheet.fill(now, all, all, at.total(now.metric), figures);
		const there = [];
		for (let i = 0; i < model.nodeCount; i++)
			if (!sheet.isEmpty(i)) there.push((rows[i] ??= stackRow(model, i)));
		const found = now.search ? stacksFound(model, now.search) : null;
		showRows(
			{ model, grid, sheet, rows: there, note, status, noun: "stacks" },
			(_, i) => found[i],
			() => stackColumns(model, sheet),
		);
	}
	return { element, update };
}

const MAYBE_ID = /^([0-9a-f]+|\/.*)$/is; // what can be a part of an id, or is a regular expression

// By node: whether the search finds a call of its stack, or its id.
function stacksFound(model, search) {
	const finds = finder(search),
		ofId = MAYBE_ID.test(search) ? (n) => finds({ id: model.stackId(n) }) : () => false,
		found = new Uint8Array(model.nodeCount),
		byFrame = new Int8Array(model.frameCount).fill(-1);
	for (let n = 0; n < model.nodeCount; n++) {
		const f = model.frame[n];
		if (!model.rest[n] && byFrame[f] < 0) byFrame[f] = finds(callOfFrame(model, f)) ? 1 : 0;
		const here = !model.rest[n] && byFrame[f] === 1;
		found[n] = here || found[model.parent[n]] || ofId(n) ? 1 : 0;
	}
	return found;
}

// What of a stack's row is the same in each range.
function stackRow(model, i) {
	const site = siteOf(model, i),
		others = model.rest[i];
	const call = site < 0 ? { function: model.nameOf(i) } : callOfFrame(model, model.frame[site]);
	const leaf = others ? call.function : model.functionOf(model.frame[i]);
	const via = leaf === call.function ? null : leaf;
	return {
		i,
		call,
		name: shown(call.function),
		callers: () => callersText(model, site),
		label: () =>
			others ? [h("span", { class: "soft" }, "others below "), callName(call)] : callName({ ...call, via }),
		hover: () =>
			path(model, i)
				.slice(0, 40)
				.map((f) => cutFunction(shown(model.functionOf(f)), 200))
				.join("\n"),
		graph: () => spark(model.lifeOf(i), model.border),
	};
}

/* ---- The view ---- */

const BY = { sites, functions, lines, stacks, libraries };

// One table at a time: the state's `by` says of what.
export function tables(model, state) {
	const made = new Map();
	const buttons = Object.keys(BY).map((by) =>
		h(
			"button",
			{ type: "button", on: { click: () => state.set({ by, sort: "" }) } },
			by[0].toUpperCase() + by.slice(1),
		),
	);
	const place = h("div"),
		menu = metricMenu(state);
	const element = h(
		"div",
		{ class: "view" },
		h(
			"div",
			{ class: "controls" },
			h("div", { class: "controls", role: "group", "aria-label": "Table of" }, buttons),
			menu.element,
		),
		place,
	);
	let shownBy = null;
	function update() {
		const by = BY[state.get().by] ? state.get().by : "sites";
		Object.keys(BY).forEach((each, i) => buttons[i].setAttribute("aria-pressed", each === by));
		if (!made.has(by)) made.set(by, BY[by](model, state));
		if (shownBy !== by) fill(place, made.get(by).element);
		shownBy = by;
		menu.update();
		made.get(by).update();
	}
	return { element, update };
}
