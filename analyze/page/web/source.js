// SPDX-License-Identifier: MIT
// Source files with each line's figures beside it; only with msreport --sources.
import { fill, h } from "./dom.js";
import { Grid } from "./grid.js";
import { figure } from "./cells.js";
import { nowOf, rangeText, sumsOf } from "./range.js";
import { cutPlace, shown } from "./text.js";
import { bytes, count, metric } from "./units.js";

export function hasSources(model) {
	return (model.sources ?? []).length > 0;
}

// By file and line: the nodes of the line without a caller of the same line, and all of them.
function nodesByLine(model) {
	const keys = new Array(model.nodeCount),
		lines = new Map();
	for (let n = 0; n < model.nodeCount; n++) {
		const f = model.frame[n],
			path = model.rest[n] ? null : model.fileOf(f);
		keys[n] = path ? `${path}\n${model.lineOf(f)}` : null;
		if (!keys[n]) continue;
		let at = model.parent[n];
		while (at >= 0 && keys[at] !== keys[n]) at = model.parent[at];
		const line = lines.get(keys[n]) ?? { first: [], all: [] };
		line.all.push(n);
		if (at < 0) line.first.push(n);
		lines.set(keys[n], line);
	}
	return lines;
}

const sum = (values, nodes) => nodes.reduce((total, n) => total + values[n], 0);

export function source(model, state) {
	const byLine = nodesByLine(model);
	const files = model.sources.map((each) => ({ ...each, weight: 0 }));
	const menu = h("select", { on: { change: () => state.set({ file: menu.value }) } });
	const note = h("p", { class: "about" });
	const columns = () => {
		const chosen = metric(nowOf(state).metric);
		const some = (id, title, format, hint) =>
			figure(id, title, format, (row) => row[id] || null, { width: 7.5, hint, none: "" });
		return [
			{ id: "line", title: "Line", value: (row) => row.number },
			some("all", chosen.title, chosen.unit, `${chosen.noun}, with what the line called`),
			some("self", "Self", chosen.unit, `${chosen.noun}: of the line itself`),
			some("calls", "Calls", count, "in the range, with what the line called"),
			...(model.hasPairs
				? [
						some(
							"kept",
							"Kept",
							bytes,
							"allocated in the range and live at its end, with what the line called",
						),
					]
				: []),
			{
				id: "code",
				title: "Source",
				width: 60,
				class: "code",
				cell: (row) => row.text.replace(/\t/g, "    "),
			},
		];
	};
	const grid = new Grid({
		label: "Source",
		columns: columns(),
		sort: "line",
		state,
		empty: "The file is empty.",
		nameWidth: 5,
		pick: (row) => row.nodes && state.set({ selected: row.nodes.first[0] ?? row.nodes.all[0] }),
		chosen: (row) => Boolean(row.nodes?.all.includes(state.get().selected)),
	});
	const element = h(
		"section",
		{ class: "view" },
		h("h2", {}, "Source"),
		h("p", { class: "controls" }, h("label", {}, "File ", menu)),
		note,
		grid.element,
	);
	let shownFile = null,
		shownMetric = null;

	function weigh(all) {
		for (const each of files) each.weight = 0;
		const byPath = new Map(files.map((each) => [each.file, each]));
		for (const [key, line] of byLine) {
			const each = byPath.get(key.slice(0, key.lastIndexOf("\n")));
			if (each) each.weight = Math.max(each.weight, sum(all, line.first));
		}
		files.sort((a, b) => b.weight - a.weight || (a.file < b.file ? -1 : 1));
	}

	// The row whose line has the largest figure.
	function heaviest(file, all) {
		const figures = file.lines.map(([number]) =>
			sum(all, byLine.get(`${file.file}\n${number}`)?.first ?? []),
		);
		return figures.indexOf(Math.max(...figures));
	}

	function update() {
		const now = nowOf(state),
			at = sumsOf(model, now);
		const all = at.inclusive(now.metric),
			self = at.self(now.metric),
			calls = at.inclusive("calls"),
			kept = at.inclusive("kept");
		weigh(all);
		fill(
			menu,
			files.map((each) =>
				h(
					"option",
					{ value: each.file },
					`${cutPlace(shown(each.file), 70)} (${metric(now.metric).unit(each.weight)})`,
				),
			),
		);
		const file = files.find((each) => each.file === now.file) ?? files[0];
		menu.value = file.file;
		if (shownMetric !== now.metric) grid.setColumns(columns());
		shownMetric = now.metric;
		grid.setRows(
			file.lines.map(([number, text]) => {
				const nodes = byLine.get(`${file.file}\n${number}`);
				return {
					number,
					text,
					nodes,
					all: nodes ? sum(all, nodes.first) : null,
					self: nodes ? sum(self, nodes.all) : null,
					calls: nodes ? sum(calls, nodes.first) : null,
					kept: nodes ? sum(kept, nodes.first) : null,
				};
			}),
		);
		fill(
			note,
			`${metric(now.metric).title}, ${rangeText(model, now)}.`,
			" Lines around those that allocate, as the files were when the page was made.",
		);
		if (shownFile !== file.file) grid.show(heaviest(file, all));
		shownFile = file.file;
	}
	return { element, update };
}
