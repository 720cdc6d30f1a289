// SPDX-License-Identifier: MIT
// The figures of the range that the state says, by node; the last ones asked for are kept, since all parts of the page
// ask for the same.
import { metric } from "./units.js";

const KEPT = 24;
const OF_A_MOMENT = {
	kept: "live",
	keptBlocks: "liveBlocks",
	allocated: "live",
	calls: "liveBlocks",
	peak: "live",
	peakBlocks: "liveBlocks",
};
const found = new WeakMap();

// The metric that is shown: in a moment nothing is allocated, so there it is what is live.
export function shownMetric({ metric: id, from, until }) {
	const shown = metric(from === until && Object.hasOwn(OF_A_MOMENT, id) ? OF_A_MOMENT[id] : id);
	if (from !== until || !/^live/.test(shown.id)) return shown;
	return {
		...shown,
		title: "Live at this moment",
		noun: shown.noun.replace("the range's end", "this moment"),
	};
}

export function selfOf(model, id, from, until) {
	if (!found.has(model)) found.set(model, new Map());
	const kept = found.get(model),
		key = `${id} ${from} ${until}`;
	let values = kept.get(key);
	kept.delete(key);
	// A trace without identity knows no births and deaths: nothing to say of what was kept.
	values ||= model.self(id, from, until) ?? new Float64Array(model.nodeCount);
	kept.set(key, values);
	if (kept.size > KEPT) kept.delete(kept.keys().next().value);
	return values;
}

export function totalOf(model, id, from, until) {
	return model.totalOf(id, from, until) ?? model.total(selfOf(model, id, from, until));
}
