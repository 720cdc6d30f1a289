// SPDX-License-Identifier: MIT
// What is known of the selected call of a comparison: all figures of both sides, what it calls, and who calls it.
// Without a selection: the largest changes.
import { boxSums, callTree, nodeName, place, stackOf, stackText } from "./calls.js";
import { changeText, figureOf, figuresOf, ratio, signed } from "./change_lens.js";
import { fill, h } from "./dom.js";
import { callName } from "./names.js";
import { copy, cutFunction, cutPlace, file, show, shown as readable } from "./text.js";
import { count } from "./units.js";

const MOST = 10,
	MOST_CALLEES = 8,
	MOST_STACKS = 3;

export function changeDetails(model, state) {
	const body = h("div", {});
	const element = h("aside", { class: "sheet details", "aria-label": "Details" }, body);
	let timer = 0;

	// The pane follows behind the view.
	function update() {
		clearTimeout(timer);
		timer = setTimeout(() => {
			const now = state.get();
			fill(body, now.selected === null ? largest(now) : selected(now));
		});
	}

	function signedText(unit, n) {
		return h("span", { class: n > 0 ? "more" : n < 0 ? "less" : "soft" }, signed(unit, n));
	}

	/* ---- No selection ---- */
	function largest(now) {
		const { id, title, unit } = figureOf(model, now.metric, true),
			{ before, after, list } = model.changes.figures.get(id);
		const change = ({ i }) => after[i] - before[i],
			rows = model.changes.rows.filter(({ i }) => list[i] !== "same");
		rows.sort((a, b) => Math.abs(change(b)) - Math.abs(change(a)));
		return [
			h("h2", {}, "Largest changes"),
			h("p", { class: "soft" }, `${title}, stack by stack`),
			rows.length
				? h(
						"ol",
						{ class: "stack", style: { "margin-top": "8px" } },
						rows
							.slice(0, MOST)
							.map((row) =>
								item(row.node, callName(row, 64), [
									signedText(unit, change(row)),
									h("span", { class: "listed" }, list[row.i]),
								]),
							),
					)
				: h("p", {}, "No stack changed."),
			h(
				"p",
				{ class: "soft", style: { "margin-top": "8px" } },
				"Select a box or a row for the figures of both sides and the callers.",
			),
		];
	}

	function item(n, name, figure = null) {
		return h(
			"li",
			{},
			h(
				"button",
				{
					type: "button",
					class: "call",
					"aria-current": n === state.get().selected ? "true" : null,
					on: { click: () => state.set({ selected: n }) },
				},
				h("span", {}, name),
				figure ? h("span", { class: "number" }, figure) : null,
			),
		);
	}

	function named(n) {
		const where = place(model, n);
		return [
			cutFunction(readable(nodeName(model, n)), 64),
			where ? h("span", { class: "place" }, ` ${cutPlace(readable(file(where)), 40)}`) : null,
		];
	}

	/* ---- A selection ---- */
	// What is gone has no width in the new recording.
	function widthFor(now, n) {
		const { new: is } = model.changes.figures.get(figureOf(model, now.metric, true).id);
		return model.inclusive(is)[n] > 0 ? {} : { width: "old" };
	}

	function selected(now) {
		const n = now.selected,
			tree = callTree(model, { fold: now.fold, hidden: now.hidden }),
			where = place(model, n),
			module = model.rest[n] ? "" : model.moduleOf(model.frame[n]);
		return [
			h(
				"div",
				{ class: "head" },
				h("h2", { class: "grow" }, show(nodeName(model, n), 300)),
				h(
					"button",
					{
						type: "button",
						class: "plain",
						"aria-label": "Clear the selection",
						on: { click: () => state.set({ selected: null }) },
					},
					"×",
				),
			),
			h(
				"p",
				{ class: "soft" },
				[module, where]
					.filter(Boolean)
					.map((text) => show(text, 200))
					.join(" · "),
			),
			figures(tree, tree.of[n]),
			ownRows(n),
			h(
				"div",
				{ class: "row" },
				h("button", { type: "button", on: { click: () => copy(stackText(model, n)) } }, "Copy the stack"),
				h(
					"button",
					{
						type: "button",
						on: {
							click: () =>
								state.set({ view: "flame", inverted: false, zoom: String(n), ...widthFor(now, n) }),
						},
					},
					"Show in the flame graph",
				),
			),
			callees(now, tree, tree.of[n]),
			h("h3", {}, "Called by"),
			h(
				"ol",
				{ class: "stack" },
				stackOf(model, n).map((up) => item(up, named(up))),
			),
		];
	}

	// All figures with what was called.
	function figures(tree, box) {
		const rows = figuresOf(model, true).map(({ id, title, unit }) => {
			const figure = model.changes.figures.get(id),
				was = boxSums(tree, figure.old).all[box],
				is = boxSums(tree, figure.new).all[box];
			return h(
				"tr",
				{},
				h("th", { scope: "row" }, title),
				h("td", { class: "number" }, unit(was)),
				h("td", { class: "number" }, unit(is)),
				h(
					"td",
					{ class: "number" },
					signedText(unit, is - was),
					is === was ? null : h("span", { class: "listed" }, ratio(was, is - was)),
				),
			);
		});
		return h(
			"table",
			{ class: "plain-table" },
			h("caption", { class: "unseen" }, "Figures of both sides"),
			h(
				"thead",
				{},
				h(
					"tr",
					{},
					h("th", { scope: "col" }, "With callees"),
					["old", "new", "change"].map((title) => h("th", { scope: "col", class: "number" }, title)),
				),
			),
			h("tbody", {}, rows),
		);
	}

	// The stacks that end at the call: what only they say. Many may be among others.
	function ownRows(n) {
		const rows = model.changes.rows.filter(({ node }) => node === n);
		return rows
			.slice(0, MOST_STACKS)
			.map((row) => [
				h("h3", {}, row.only ? `A stack that is only in the ${row.only}` : `A stack, ${row.matched}`),
				h(
					"dl",
					{ class: "pairs" },
					pair("was called", row.was && cutFunction(readable(row.was), 120)),
					pair("line", row.oldLine && row.oldLine !== row.line ? `${row.line}, was ${row.oldLine}` : null),
					pair("median life in calls", life(row)),
					pair(row.only === "old" ? "id" : "id in the old", row.oldId !== row.id ? code(row.oldId) : null),
					pair("id", code(row.id)),
				),
			]);
	}

	function life({ i }) {
		const figure = model.changes.figures.get("life");
		const [was, is] = [figure?.before[i], figure?.after[i]];
		if (!Number.isFinite(was) && !Number.isFinite(is)) return null;
		if (Number.isFinite(was) && Number.isFinite(is)) return changeText(count, was, is);
		return Number.isFinite(is) ? count(is) : `was ${count(was)}`;
	}

	function code(id) {
		return id ? h("code", {}, id) : null;
	}

	function pair(title, value) {
		return value ? [h("dt", {}, title), h("dd", {}, value)] : null;
	}

	function callees(now, tree, box) {
		const { id, unit } = figureOf(model, now.metric, true),
			{ all } = boxSums(tree, model.changes.figures.get(id).counts);
		const found = Array.from(tree.children.subarray(tree.firstChild[box], tree.firstChild[box + 1]))
			.filter((b) => all[b] !== 0)
			.sort((a, b) => Math.abs(all[b]) - Math.abs(all[a]));
		if (!found.length) return null;
		return [
			h("h3", {}, "Changes below it"),
			h(
				"ol",
				{ class: "stack" },
				found
					.slice(0, MOST_CALLEES)
					.map((b) => item(tree.node[b], named(tree.node[b]), signedText(unit, all[b]))),
			),
			found.length > MOST_CALLEES
				? h("p", { class: "soft" }, `and ${count(found.length - MOST_CALLEES)} more`)
				: null,
		];
	}
	return { element, update };
}
