// SPDX-License-Identifier: MIT
// Tables of sites, functions, lines, libraries and stacks over the chosen range: their own part, and what they called.
import { figure, metricMenu, shareBar, verdictTag, view } from "./cells.js";
import { fill, h } from "./dom.js";
import { Grid, shownOf } from "./grid.js";
import { Groups, livesOf } from "./groups.js";
import { callersText, callName, callOfFrame, callText, finder, path, siteOf } from "./names.js";
import { nowOf, partOf, rangeText, sumsOf } from "./range.js";
import { spark } from "./spark.js";
import { cutFunction, shown } from "./text.js";
import { bytes, count, many, metric, nanoseconds, share } from "./units.js";

// The metrics beside the chosen one. What is kept wants a trace with identities; a moment has what is live.
function also(model, { moment }) {
	if (moment) return ["live", "liveBlocks"];
	return ["live", "kept", "allocated", "calls", "peak"].filter((id) => id !== "kept" || model.hasPairs);
}

const TITLES = {
	live: "Live at its end",
	liveBlocks: "Blocks",
	kept: "Kept",
	allocated: "Allocated",
	calls: "Calls",
	peak: "At its peak",
};

function figuresAt(values, i) {
	return Object.fromEntries(Object.entries(values).map(([id, each]) => [id, each[i]]));
}

/* ---- Functions, lines, libraries, sites ---- */

function groupColumns(model, by, now) {
	const chosen = metric(now.metric);
	const self = by === "sites";
	const width = { width: 7 };
	const columns = [
		{
			id: "name",
			title: by[0].toUpperCase() + by.slice(1, -1).replace("librarie", "library"),
			value: (row) => row.name,
			cell: (row) => row.label(),
			hover: (row) => row.hover(),
		},
		figure("all", chosen.title, chosen.unit, (row) => row.all, {
			...width,
			hint: self ? chosen.noun : `${chosen.noun}, with all that it called`,
		}),
		{
			id: "share",
			title: "Share",
			figure: true,
			width: 6.5,
			value: (row) => row.all,
			cell: (row) => shareBar(row.all, row.total),
		},
	];
	if (!self)
		columns.push(
			figure("self", "Self", chosen.unit, (row) => row.self, {
				...width,
				hint: `${chosen.noun}: of its own`,
			}),
		);
	columns.push({ id: "life", title: "Live over the run", width: 7.5, cell: (row) => row.graph() });
	for (const id of also(model, now).filter((each) => each !== chosen.id))
		columns.push(
			figure(id, TITLES[id], metric(id).unit, (row) => row.figures[id], { ...width, hint: metric(id).noun }),
		);
	columns.push(figure("mean", "Mean size", bytes, meanOf, { hint: "bytes allocated by calls in the range" }));
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

// In a moment there are no calls.
function meanOf(row) {
	const { calls, allocated } = row.figures;
	return calls ? allocated / calls : null;
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
		const groups = new Groups(model, by);
		const reported = reportedRows(model, by);
		const lines = groups.frames.map((f) => callOfFrame(model, f));
		const columns = () => groupColumns(model, by, nowOf(state));
		const grid = new Grid({
			label: title,
			columns: columns(),
			sort: "-all",
			state,
			empty: "No row has a figure in this range.",
			pick: (row) => state.set({ selected: row.node() }),
			chosen: (row) => row.holds(state.get().selected),
		});
		const { element, note, status } = view(title, about, grid.element);
		let columnsOf = "";

		function rowsOf(now) {
			const at = sumsOf(model, now);
			const self = by === "sites";
			const sum = (id) => (self ? groups.self(at.self(id)) : groups.inclusive(at.inclusive(id)));
			const others = Object.fromEntries(also(model, now).map((id) => [id, sum(id)]));
			const all = others[now.metric] ?? sum(now.metric),
				own = self ? all : groups.self(at.self(now.metric));
			const total = at.total(now.metric),
				finds = finder(now.search),
				rows = [];
			let known = 0,
				found = 0;
			for (let g = 0; g < groups.count; g++) {
				if (!all[g] && Object.values(others).every((values) => !values[g])) continue;
				known++;
				if (!finds(by === "libraries" ? { module: lines[g].module } : lines[g])) continue;
				found += own[g];
				rows.push(row(g, now, all[g], own[g], total, figuresAt(others, g)));
			}
			return { rows, known, found, total };
		}

		function row(g, now, all, self, total, figures) {
			const call = lines[g],
				isLibrary = by === "libraries";
			const name = shown(isLibrary ? call.module : call.function);
			return {
				g,
				name,
				all,
				self,
				total,
				figures,
				reported: reported.get(reportKey(by, call)),
				label: () =>
					isLibrary
						? h("span", { class: "name" }, cutFunction(name, 90))
						: callName(by === "functions" ? { ...call, line: null } : call),
				hover: () => cutFunction(isLibrary ? name : callText(call), 1000),
				graph: () =>
					spark(livesOf(model).ofAll(groups.members[g], by === "sites"), model.border, partOf(model, now)),
				node: () =>
					groups.largest(
						g,
						by === "sites" ? sumsOf(model, now).self(now.metric) : sumsOf(model, now).inclusive(now.metric),
					),
				holds: (node) => node !== null && groups.owner[node] === g,
			};
		}

		function update() {
			const now = nowOf(state);
			if (columnsOf !== `${now.metric} ${now.moment}`) grid.setColumns(columns());
			columnsOf = `${now.metric} ${now.moment}`;
			const { rows, known, found, total } = rowsOf(now);
			grid.setRows(rows);
			fill(note, rangeNote(model, now));
			const unit = metric(now.metric).unit;
			fill(
				status,
				shownOf(rows.length, known, by),
				now.search
					? ` match “${shown(now.search)}”: ${unit(found)} of their own, ${share(found, total)} of ${unit(total)}.`
					: `; ${unit(total)} in all.`,
			);
		}
		return { element, update };
	};
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
	return (
		`${metric(now.metric).title}, ${rangeText(model, now)}.${exact}` +
		(others
			? ` ${metric(now.metric).unit(others)} (${share(others, total)}) belong to stacks too small to be told apart; they count for their callers.`
			: "")
	);
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
	"A site is the innermost call that is no allocator, container or part of the C library: what your code asked for.",
);

/* ---- Stacks ---- */

function stackColumns(model, now) {
	const chosen = metric(now.metric);
	const fact = (id) => (row) => (Number.isFinite(model.facts[id][row.n]) ? model.facts[id][row.n] : null);
	return [
		{
			id: "name",
			title: "Stack",
			value: (row) => row.name,
			cell: (row) => row.label(),
			hover: (row) => row.hover(),
		},
		figure("all", chosen.title, chosen.unit, (row) => row.all, { width: 7, hint: chosen.noun }),
		{
			id: "share",
			title: "Share",
			figure: true,
			width: 6.5,
			value: (row) => row.all,
			cell: (row) => shareBar(row.all, row.total),
		},
		{ id: "life", title: "Live over the run", width: 7.5, cell: (row) => row.graph() },
		{ id: "callers", title: "Called by", width: 20, class: "soft", cell: (row) => row.callers() },
		...also(model, now)
			.filter((id) => id !== chosen.id)
			.map((id) =>
				figure(id, TITLES[id], metric(id).unit, (row) => row.figures[id], { hint: metric(id).noun }),
			),
		{
			id: "verdict",
			title: "Verdict",
			width: 7.5,
			value: (row) => model.verdictOf(row.n) ?? "",
			cell: (row) => verdictTag(model.verdictOf(row.n)),
		},
		figure("mean", "Mean size", bytes, meanOf, { hint: "bytes allocated by calls in the range" }),
		figure("least", "Least", bytes, fact("least"), { hint: "smallest size, whole run" }),
		figure("most", "Most", bytes, fact("most"), { hint: "largest size, whole run" }),
		figure("temporary", "Temporary", count, fact("temporary"), {
			hint: "freed before their thread's next allocation, whole run",
		}),
		figure("p50", "Median life", many, fact("calls50"), {
			hint: "allocations between a block's and its free, whole run",
		}),
		figure("p99", "99 %", many, fact("calls99"), {
			hint: "99 % of the lives don't exceed this, in allocations",
		}),
		figure("time50", "in time", nanoseconds, fact("ns50"), { hint: "median life in time" }),
		{ id: "threads", title: "Threads", width: 12, cell: (row) => threadsOf(model, row.n) },
		{
			id: "id",
			title: "Id",
			width: 10,
			value: (row) => model.stackId(row.n) ?? "",
			cell: (row) => h("code", {}, model.stackId(row.n) ?? ""),
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
	const columns = () => stackColumns(model, nowOf(state));
	const grid = new Grid({
		label: "Stacks",
		columns: columns(),
		sort: "-all",
		state,
		empty: "No stack has a figure in this range.",
		pick: (row) => state.set({ selected: row.n }),
		chosen: (row) => row.n === state.get().selected,
	});
	const { element, note, status } = view(
		"Stacks",
		"Whole stacks by their site. The details show the calls; msreport --stack=ID shows a stack's whole life.",
		grid.element,
	);
	const found = new Uint8Array(model.nodeCount);
	let columnsOf = "";

	// By node: whether the search finds a call of its stack.
	function search(text) {
		const finds = finder(text),
			byFrame = new Int8Array(model.frameCount).fill(-1);
		for (let n = 0; n < model.nodeCount; n++) {
			const f = model.frame[n];
			if (!model.rest[n] && byFrame[f] < 0) byFrame[f] = finds(callOfFrame(model, f)) ? 1 : 0;
			found[n] =
				(!model.rest[n] && byFrame[f] === 1) ||
				(model.parent[n] >= 0 && found[model.parent[n]]) ||
				(text && finds({ id: model.stackId(n) }))
					? 1
					: 0;
		}
	}

	function row(n, now, all, total, figures) {
		const at = siteOf(model, n),
			call = at < 0 ? { function: model.nameOf(n) } : callOfFrame(model, model.frame[at]);
		const leaf = model.rest[n] ? call.function : model.functionOf(model.frame[n]);
		const via = leaf === call.function ? null : leaf;
		return {
			n,
			name: shown(call.function),
			all,
			total,
			figures,
			callers: () => callersText(model, at),
			label: () =>
				model.rest[n]
					? [h("span", { class: "soft" }, "others below "), callName(call)]
					: callName({ ...call, via }),
			hover: () =>
				path(model, n)
					.slice(0, 40)
					.map((f) => callText(callOfFrame(model, f)).split("\n", 1)[0])
					.join("\n"),
			graph: () => spark(model.lifeOf(n), model.border, partOf(model, now)),
		};
	}

	function update() {
		const now = nowOf(state),
			at = sumsOf(model, now);
		if (columnsOf !== `${now.metric} ${now.moment}`) grid.setColumns(columns());
		columnsOf = `${now.metric} ${now.moment}`;
		search(now.search);
		const all = at.self(now.metric),
			others = Object.fromEntries(also(model, now).map((id) => [id, at.self(id)]));
		const total = at.total(now.metric),
			rows = [];
		let known = 0,
			sum = 0;
		for (let n = 0; n < model.nodeCount; n++) {
			if (!all[n] && Object.values(others).every((values) => !values[n])) continue;
			known++;
			if (!found[n]) continue;
			sum += all[n];
			rows.push(row(n, now, all[n], total, figuresAt(others, n)));
		}
		grid.setRows(rows);
		fill(note, rangeNote(model, now));
		const unit = metric(now.metric).unit;
		fill(
			status,
			shownOf(rows.length, known, "stacks"),
			now.search
				? ` match “${shown(now.search)}”: ${unit(sum)}, ${share(sum, total)} of ${unit(total)}.`
				: `; ${unit(total)} in all.`,
		);
	}
	return { element, update };
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
