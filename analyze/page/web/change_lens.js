// SPDX-License-Identifier: MIT
// What the flame graph of a comparison shows (range_lens.js says what a lens is): boxes as wide as the new, the old,
// the larger or the changed part; red grew, blue shrank, and a sign before each name says the same.
import { boxSums } from "./calls.js";
import { count, bytes, share } from "./units.js";

const WIDTHS = {
	new: "in the new recording",
	old: "in the old recording",
	larger: "where there are more, stack by stack",
	change: "of change, stack by stack",
};

const CLASSES = [
	"half or less, or gone",
	"less by 10 % or more",
	"a little less",
	"as it was",
	"a little more",
	"more by 10 % or more",
	"double or more, or new",
];
const AS_IT_WAS = 3;

const TITLES = {
	peak: "Peak",
	"peak-blocks": "Blocks at the peak",
	end: "Left at the end",
	"end-blocks": "Blocks left at the end",
	bytes: "Allocated",
	calls: "Calls",
	temporary: "Temporary blocks",
	life: "Median life",
};
const BYTES = ["peak", "end", "bytes"];

// The figures of a comparison in the order of msreport's tables: {id, title, unit, noun}. `sums`: without lifetimes.
export function figuresOf(model, sums = false) {
	const { moment } = model.meta.page;
	const nouns = { peak: moment || "the peak", "peak-blocks": "blocks at the peak", end: "the end" };
	return [...model.changes.figures.keys()]
		.filter((id) => !sums || id !== "life")
		.map((id) => ({
			id,
			title: id === "peak" && moment ? moment[0].toUpperCase() + moment.slice(1) : TITLES[id],
			unit: BYTES.includes(id) ? bytes : count,
			noun: nouns[id] ?? TITLES[id].toLowerCase(),
		}));
}

export function figureOf(model, id, sums = false) {
	const all = figuresOf(model, sums);
	return all.find((each) => each.id === id) ?? all[0];
}

// "+1.2 MiB", "-3"
export function signed(unit, n) {
	return (n < 0 ? "-" : "+") + unit(Math.abs(n));
}

// As msreport has it: "+11 %", "x 12" where it is ten times as much or more. "": it was 0.
export function ratio(before, change) {
	if (!(before > 0)) return "";
	const part = change / before,
		percent = part * 100;
	if (part >= 9) return `x ${(part + 1).toFixed(part < 99 ? 1 : 0)}`;
	return `${percent < 0 ? "" : "+"}${percent.toFixed(Math.abs(percent) < 9.95 ? 1 : 0)} %`;
}

// What changed, as a sentence's part: "12 MiB, +1.2 MiB (+11 %)".
export function changeText(unit, was, is, counts = is - was) {
	if (counts === 0) return is === was ? `${unit(is)}, as it was` : `${unit(is)}, was ${unit(was)}`;
	const part = ratio(was, is - was);
	return `${unit(is)}, ${signed(unit, is - was)}${part ? ` (${part})` : ""}`;
}

// `counts`: the changes beyond the noise.
function classOf(is, counts) {
	if (counts === 0) return AS_IT_WAS;
	const was = is - counts,
		[small, large] = counts > 0 ? [was, is] : [is, was];
	const times = small > 0 ? large / small : Infinity;
	const steps = times >= 2 ? 3 : times >= 1.1 ? 2 : 1;
	return AS_IT_WAS + (counts > 0 ? steps : -steps);
}

export function changeLens(model) {
	const widthOf = ({ width }) => (Object.hasOwn(WIDTHS, width ?? "") ? width : "new");
	const shown = (now) => {
		const figure = figureOf(model, now.metric, true);
		return { ...figure, noun: `${figure.noun}, ${WIDTHS[widthOf(now)]}` };
	};
	const valuesOf = (now) => model.changes.figures.get(shown(now).id);
	let kept = {};

	// By box what was and is, and the changes that count.
	function sumsOf(boxes, now) {
		const { id } = shown(now);
		if (kept.boxes !== boxes || kept.id !== id) {
			const figure = valuesOf(now),
				sum = (values) => boxSums(boxes, values).all;
			kept = { boxes, id, was: sum(figure.old), is: sum(figure.new), counts: sum(figure.counts) };
			kept.classes = Uint8Array.from(kept.is, (is, b) => classOf(is, kept.counts[b]));
		}
		return kept;
	}

	return {
		choices: [
			{
				title: "Show",
				key: "metric",
				options: figuresOf(model, true).map(({ id, title }) => [id, title]),
				label: null,
			},
			{
				title: null,
				key: "width",
				options: [
					["new", "Width: new"],
					["old", "Width: old"],
					["larger", "Width: the larger"],
					["change", "Width: change"],
				],
				label: "Width",
			},
		],
		shown,
		values: (now) => valuesOf(now)[widthOf(now)],
		order: (now) => ({ key: shown(now).id, values: () => valuesOf(now).larger }),
		look(boxes, now, values, colours) {
			return {
				classes: sumsOf(boxes, now).classes,
				shades: colours.changes.map((colour) => [colour]),
				ordered: true,
				legend: CLASSES.map((name, i) => [
					colours.changes[i],
					`${"-=+"[Math.sign(i - AS_IT_WAS) + 1]} ${name}`,
				]),
			};
		},
		mark({ boxes, now, shown: { unit } }, box) {
			const { counts } = sumsOf(boxes, now);
			return box && counts[box] ? signed(unit, counts[box]) : null;
		},
		figures({ boxes, now, shown: { unit } }, box) {
			const { was, is, counts } = sumsOf(boxes, now);
			return changeText(unit, was[box], is[box], counts[box]);
		},
		matched({ boxes, now, shown: { unit }, sums, zoom }, sum) {
			const { was, is } = sumsOf(boxes, now);
			return `${changeText(unit, sum(was), sum(is))}, ${share(sum(sums.all), sums.all[zoom])}`;
		},
		more: () => [],
		notes(now, { shown: { title }, sums }) {
			if (sums.all[0] > 0) return [];
			const width = { new: "in the new recording", old: "in the old recording" }[widthOf(now)];
			return [
				width
					? `Nothing: ${title.toLowerCase()} is 0 ${width}. Another width may show more.`
					: `Nothing: ${title.toLowerCase()} ${widthOf(now) === "change" ? "is as it was" : "is 0"}.`,
			];
		},
	};
}
