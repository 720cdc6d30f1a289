// SPDX-License-Identifier: MIT
// Nodes of the calling-context tree summed up by function, line, library or site. A group's inclusive sum has each
// stack once, however often the group is on it. A site is the innermost call that isn't hidden, as in msreport.
import { callOfFrame } from "./names.js";

// What frames have in common, by grouping.
const KEYS = {
	functions: (model, f) => `${model.functionOf(f)}\n${model.moduleOf(f)}`,
	lines: (model, f) =>
		`${model.functionOf(f)}\n${model.fileOf(f) ?? ""}\n${model.lineOf(f) ?? ""}\n${model.moduleOf(f)}`,
	libraries: (model, f) => `${model.moduleOf(f)}`,
};
KEYS.sites = KEYS.lines;

export class Groups {
	// `by`: functions, lines, libraries or sites.
	constructor(model, by) {
		this.model = model;
		this.by = by;
		this.frames = []; // by group: one of its frames
		this.ofFrame = new Int32Array(model.frameCount);
		const numbers = new Map();
		for (let f = 0; f < model.frameCount; f++) {
			const key = KEYS[by](model, f);
			let number = numbers.get(key);
			if (number === undefined) {
				number = this.frames.length;
				numbers.set(key, number);
				this.frames.push(f);
			}
			this.ofFrame[f] = number;
		}
		this.count = this.frames.length;
		this.#findOwners();
		if (by === "sites") this.first = new Uint8Array(model.nodeCount);
		else this.#findFirst();
		this.#findMembers();
	}

	// By node: the group that has its self value; -1: none, as of "n others".
	#findOwners() {
		const { model } = this;
		this.owner = new Int32Array(model.nodeCount).fill(-1);
		for (let n = 0; n < model.nodeCount; n++) {
			if (model.rest[n]) continue;
			let at = n;
			if (this.by === "sites") while (at >= 0 && model.hiddenOf(model.frame[at])) at = model.parent[at];
			this.owner[n] = this.ofFrame[model.frame[at < 0 ? n : at]];
		}
	}

	// By node: whether no caller is of the node"s group.
	#findFirst() {
		const { model } = this;
		this.first = new Uint8Array(model.nodeCount);
		for (let n = 0; n < model.nodeCount; n++) {
			if (model.rest[n]) continue;
			const group = this.owner[n];
			let at = model.parent[n];
			while (at >= 0 && this.owner[at] !== group) at = model.parent[at];
			this.first[n] = at < 0 ? 1 : 0;
		}
	}

	// By group: the nodes whose values make it up: self values of sites, inclusive ones of all others.
	#findMembers() {
		this.members = Array.from({ length: this.count }, () => []);
		for (let n = 0; n < this.model.nodeCount; n++)
			if (this.owner[n] >= 0 && (this.by === "sites" || this.first[n])) this.members[this.owner[n]].push(n);
	}

	// Sums by group of values by node.
	self(values) {
		const sums = new Float64Array(this.count);
		for (let n = 0; n < values.length; n++)
			if (values[n] !== 0 && this.owner[n] >= 0) sums[this.owner[n]] += values[n];
		return sums;
	}

	// `inclusive`: by node, with what it called.
	inclusive(inclusive) {
		const sums = new Float64Array(this.count);
		for (let n = 0; n < inclusive.length; n++) if (this.first[n]) sums[this.owner[n]] += inclusive[n];
		return sums;
	}

	// The member with the largest value: what to show of the group elsewhere. null: it has none.
	largest(group, values) {
		let best = null;
		for (const n of this.members[group]) if (best === null || values[n] > values[best]) best = n;
		return best;
	}
}

// Live bytes at each border, by node, with what the node called: made when first asked for. For curves of few pixels:
// single precision is enough, and all nodes at all borders are large.
export class Lives {
	constructor(model) {
		this.model = model;
		this.width = model.bucketCount + 1;
		this.rows = null;
	}

	#sumUp() {
		const { model, width } = this;
		this.rows = new Float32Array(model.nodeCount * width);
		for (let n = 0; n < model.nodeCount; n++) this.rows.set(model.lifeOf(n), n * width);
		for (let n = model.nodeCount - 1; n >= 0; n--) {
			const to = model.parent[n] * width,
				from = n * width;
			if (to >= 0) for (let i = 0; i < width; i++) this.rows[to + i] += this.rows[from + i];
		}
	}

	of(node) {
		if (!this.rows) this.#sumUp();
		return this.rows.subarray(node * this.width, (node + 1) * this.width);
	}

	// Sum of several nodes; `self`: without what they called.
	ofAll(nodes, self = false) {
		if (self) return this.model.lifeOfAll(nodes);
		const sum = new Float64Array(this.width);
		for (const n of nodes) {
			const life = this.of(n);
			for (let i = 0; i < sum.length; i++) sum[i] += life[i];
		}
		return sum;
	}
}

const lives = new WeakMap();

export function livesOf(model) {
	if (!lives.has(model)) lives.set(model, new Lives(model));
	return lives.get(model);
}

// The nodes of each stack's id.
const idNodes = new WeakMap();

export function nodesOfId(model, id) {
	if (!idNodes.has(model)) {
		const found = new Map();
		for (let n = 0; n < model.nodeCount; n++) {
			const known = model.stackId(n);
			if (known) found.set(known, [...(found.get(known) ?? []), n]);
		}
		idNodes.set(model, found);
	}
	return idNodes.get(model).get(id) ?? [];
}

const siteGroups = new WeakMap();

// Nodes of the site that a row is about.
export function nodesOfSite(model, row) {
	if (!siteGroups.has(model)) {
		const groups = new Groups(model, "sites");
		const byKey = new Map();
		groups.frames.forEach((f, g) => byKey.set(siteKey(callOfFrame(model, f)), groups.members[g]));
		siteGroups.set(model, byKey);
	}
	return siteGroups.get(model).get(siteKey(row)) ?? [];
}

function siteKey(call) {
	return `${call.function}\n${call.file ?? ""}\n${call.line || ""}\n${call.module ?? ""}`;
}
