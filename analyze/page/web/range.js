// SPDX-License-Identifier: MIT
// The range that the state says: its figures, its name, and what tables add up for it.
import { selfOf, shownMetric } from "./figures.js";
import { seconds } from "./units.js";

// The state with the metric that is shown: in a moment, what is live.
export function nowOf(state) {
	const now = state.get();
	return { ...now, metric: shownMetric(now).id, moment: now.from === now.until };
}

// Values by node of the chosen range, with those of callees made once: sums.self("live"), sums.inclusive("live").
class RangeSums {
	constructor(model) {
		this.model = model;
		this.known = new Map();
		this.range = "";
	}

	at({ from, until }) {
		if (this.range !== `${from} ${until}`) this.known.clear();
		this.range = `${from} ${until}`;
		Object.assign(this, { from, until });
		return this;
	}

	self(id) {
		return selfOf(this.model, id, this.from, this.until);
	}

	inclusive(id) {
		if (!this.known.has(id)) this.known.set(id, this.model.inclusive(this.self(id)));
		return this.known.get(id);
	}

	total(id) {
		return this.model.total(this.self(id));
	}
}

const sums = new WeakMap();

export function sumsOf(model, now) {
	if (!sums.has(model)) sums.set(model, new RangeSums(model));
	return sums.get(model).at(now);
}

export function rangeText(model, { from, until }) {
	if (from === 0 && until === model.bucketCount) return "the whole run";
	return from === until
		? `the moment ${seconds(model.border[from])}`
		: `${seconds(model.border[from])} … ${seconds(model.border[until])}`;
}
