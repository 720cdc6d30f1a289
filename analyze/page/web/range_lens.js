// SPDX-License-Identifier: MIT
// What the flame graph of a run shows: the range's figures, and colours by module, thread or lifetime.
//
// A lens has
//   choices                      menus beside the drawing: {title, key of the state, options, label}
//   shown(now)                   the figure that boxes are as wide as: {id, title, unit, noun}
//   values(now)                  by node, what is its own
//   order(now)                   what boxes are sorted by: {key, values()}, the same while a range is dragged
//   look(boxes, now, values, colours)   {classes, shades, ordered, legend}: the class of each box, the colours of
//                                each class, whether classes are an order, and [colour, name] of what the legend says
//   mark(drawn, box)             what stands before a box's name: where there is no room, its first character; or null
//   figures(drawn, box)          the box's figures as text
//   matched(drawn, sum)          what a search found: sum(values by box) adds up each block once
//   more(drawn, box)             further lines about a box
//   notes(now, drawn)            sentences above the drawing
import { selfOf, shownMetric } from "./figures.js";
import { classesOf, NONE, wayOf } from "./palette.js";
import { count, METRICS, share } from "./units.js";

// What boxes are sorted by, the same for each range, so that they stay where they are while one is dragged.
const ORDER = { live: "peak", liveBlocks: "peakBlocks", kept: "allocated", keptBlocks: "calls" };

const choices = [
	{ title: "Show", key: "metric", options: METRICS.map((m) => [m.id, m.title]), label: null },
	{
		title: null,
		key: "colour",
		options: [
			["module", "Colour: module"],
			["thread", "Colour: thread"],
			["lifetime", "Colour: lifetime"],
		],
		label: "Colour",
	},
];

export function rangeLens(model) {
	let kept = { key: "" };

	function classes(boxes, values, { colour, from, until }, id) {
		const key = `${colour} ${wayOf(model, colour).dominant ? `${id} ${from} ${until}` : ""}`;
		if (kept.key !== key || kept.boxes !== boxes)
			kept = { key, boxes, classes: classesOf(model, boxes, values, colour) };
		return kept.classes;
	}

	function notes(now, { shown, sums }) {
		const found = [];
		if (now.from === now.until && shown.id !== now.metric)
			found.push("A moment is chosen: what is live then is shown.");
		if (/^kept/.test(shown.id) && !model.hasPairs)
			found.push("This trace doesn't say which block a free frees: what was kept isn't known.");
		else if (/^kept/.test(shown.id) && !model.pairsExact(now.from, now.until))
			found.push(
				"The borders of this range are finer than what the page knows of births and deaths: " +
					"the figures are those of the next coarser borders.",
			);
		if (sums.all[0] === 0) found.push(`Nothing: ${shown.title.toLowerCase()} is 0 in this range.`);
		return found;
	}

	return {
		choices,
		notes,
		shown: shownMetric,
		values: (now) => selfOf(model, shownMetric(now).id, now.from, now.until),
		order(now) {
			const { id } = shownMetric(now),
				key = ORDER[id] || id;
			return { key, values: () => selfOf(model, key, 0, model.bucketCount) };
		},
		look(boxes, now, values, colours) {
			const way = wayOf(model, now.colour),
				swatches = way.ordered ? colours.steps : colours.hues;
			return {
				classes: classes(boxes, values, now, shownMetric(now).id),
				shades: way.ordered ? colours.heat : colours.tints,
				ordered: way.ordered,
				legend: [
					...way.names.map((name, i) => [swatches[i], name]),
					...(way.more > 0 ? [[colours.other, `${count(way.more)} more`]] : []),
				],
			};
		},
		mark: () => null,
		figures: ({ shown, sums }, box) => shown.unit(sums.all[box]),
		matched({ shown, sums, zoom }, sum) {
			const found = sum(sums.all);
			return `${shown.unit(found)}, ${share(found, sums.all[zoom])}`;
		},
		more({ now, classes: of }, box) {
			const c = of[box];
			return now.colour !== "module" && box && c !== NONE
				? [`${now.colour}: ${wayOf(model, now.colour).names[c]}`]
				: [];
		},
	};
}
