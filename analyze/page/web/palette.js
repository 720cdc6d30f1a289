// SPDX-License-Identifier: MIT
// Colours of boxes: by module, thread or lifetime. Eight hues of one lightness that colour-blind people tell apart
// as far as eight can be; what a colour says is always told in words too.
import { onPaper } from "./dom.js";
import { count } from "./units.js";

const HUES = 8;
const CHANGES = 7; // from far less to far more
const SHADES = [0, 0.09, 0.18, 0.27];
export const NONE = 255;

// The page's colours as the style sheet has them for the present theme: "dark", "light" or paper.
const themes = new Map();

export function theme(element) {
	const dark = matchMedia("(prefers-color-scheme: dark)").matches;
	const key = onPaper() ? "paper" : dark ? "dark" : "light";
	if (!themes.has(key)) themes.set(key, coloursOf(element));
	return themes.get(key);
}

function coloursOf(element) {
	const style = getComputedStyle(element);
	const of = (name) => style.getPropertyValue(name).trim();
	return {
		tints: Array.from({ length: HUES }, (_, i) => tintsOf(of(`--m${i}`), of("--sheet"))),
		hues: Array.from({ length: HUES }, (_, i) => of(`--m${i}`)),
		other: of("--other"),
		text: of("--flame-text"),
		gap: of("--flame-gap"),
		match: of("--match"),
		matchText: of("--match-text"),
		accent: of("--accent"),
		steps: heat(of("--heat-from"), of("--heat-to")),
		heat: heat(of("--heat-from"), of("--heat-to")).map((colour) => [colour]),
		sheet: of("--sheet"),
		soft: of("--soft"),
		changes: Array.from({ length: CHANGES }, (_, i) => of(`--c${i}`)),
	};
}

function channels(hex) {
	return [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
}

// A hue in shades so near that they stay one colour, and boxes beside each other are seen as several.
function tintsOf(hue, sheet) {
	return SHADES.map((part) => mixed(channels(hue), channels(sheet), part));
}

function heat(from, to) {
	return Array.from({ length: HUES }, (_, i) => mixed(channels(from), channels(to), i / (HUES - 1)));
}

function mixed(a, b, part) {
	const rgb = a.map((c, k) => Math.round(c + (b[k] - c) * part));
	return `#${rgb.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
}

// Black or white, whichever reads better on the colour.
export function textOn(hex) {
	const [r, g, b] = channels(hex).map((c) =>
		c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
	);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#14171a" : "#ffffff";
}

const LIVES = [10, 100, 1e3, 1e4, 1e5, 1e6];

// A way to colour: {class of each node of the model, names of the classes, whether they are an order}.
const WAYS = {
	module(model) {
		const weight = new Float64Array(model.modules.length),
			all = model.inclusive(model.self("allocated", 0, model.bucketCount));
		for (let n = 0; n < model.nodeCount; n++)
			if (!model.rest[n]) weight[model.moduleIndex[model.frame[n]]] += all[n] + 1;
		const rank = ranks(weight);
		return {
			of: (n) => (model.rest[n] ? NONE : rank.of[model.moduleIndex[model.frame[n]]]),
			names: rank.first.map((m) => model.modules[m] || "no module"),
			more: model.modules.length - rank.first.length,
		};
	},
	thread(model) {
		const weight = new Float64Array(model.threads.length),
			first = new Int16Array(model.nodeCount).fill(-1);
		const values = model.self("allocated", 0, model.bucketCount);
		for (let n = 0; n < model.nodeCount; n++) {
			first[n] = model.threadsOf(n)[0]?.thread ?? (model.threads.length === 1 ? 0 : -1);
			if (first[n] >= 0) weight[first[n]] += values[n];
		}
		const rank = ranks(weight);
		return {
			of: (n) => (first[n] < 0 ? NONE : rank.of[first[n]]),
			dominant: true,
			names: rank.first.map((t) => threadName(model.threads[t], t)),
			more: model.threads.length - rank.first.length,
		};
	},
	lifetime(model) {
		const names = [
			...LIVES.map((n, i) => (i ? `${count(LIVES[i - 1])} to ${count(n)} calls` : `fewer than ${n} calls`)),
			`${count(LIVES.at(-1))} calls or more`,
			"not freed",
		];
		const of = new Uint8Array(model.nodeCount);
		for (let n = 0; n < model.nodeCount; n++) {
			const life = model.facts.calls50[n];
			of[n] = Number.isFinite(life) ? LIVES.findIndex((most) => life < most) & 0xff : LIVES.length + 1;
			if (of[n] === 0xff) of[n] = LIVES.length;
		}
		return { of: (n) => of[n], names, more: 0, dominant: true, ordered: true };
	},
};

export function threadName(thread, i) {
	return thread ? `${thread.name || "thread"} (${thread.tid ?? i + 1})` : "no thread";
}

// The first HUES by weight have a hue each.
function ranks(weight) {
	const order = Array.from(weight.keys()).sort((a, b) => weight[b] - weight[a]);
	const of = new Uint8Array(weight.length).fill(NONE),
		first = order.slice(0, HUES);
	first.forEach((what, i) => {
		of[what] = i;
	});
	return { of, first };
}

const made = new WeakMap();

export function wayOf(model, name) {
	if (!made.has(model)) made.set(model, {});
	const ways = made.get(model);
	const known = Object.hasOwn(WAYS, name) ? name : "module";
	return (ways[known] ||= WAYS[known](model));
}

// The class of each box. Where only allocating nodes have one, a box has that of most of what is below it.
export function classesOf(model, tree, values, name) {
	const way = wayOf(model, name),
		classes = new Uint8Array(tree.count).fill(NONE);
	if (!way.dominant) {
		for (let b = 1; b < tree.count; b++) classes[b] = way.of(tree.node[b]);
		return classes;
	}
	const n = way.names.length + 1,
		votes = new Float64Array(tree.count * n);
	for (let node = 0; node < values.length; node++)
		if (values[node]) {
			const c = way.of(node);
			votes[tree.of[node] * n + (c === NONE ? n - 1 : c)] += values[node];
		}
	for (let b = tree.count - 1; b >= 0; b--) {
		let best = 0;
		for (let c = 0; c < n; c++) {
			const v = votes[b * n + c];
			if (b) votes[tree.parent[b] * n + c] += v;
			if (v > votes[b * n + best]) best = c;
		}
		classes[b] = best === n - 1 ? NONE : best;
	}
	return classes;
}
