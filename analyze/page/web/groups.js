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

// Nodes and all that they called. `tops` is in rising order, as parents come before children.
export function nodesBelow(model, tops) {
	const { parent, nodeCount } = model,
		below = new Uint8Array(nodeCount),
		nodes = [];
	for (const n of tops) below[n] = 1;
	for (let n = tops[0] ?? nodeCount; n < nodeCount; n++) {
		if (parent[n] >= 0 && below[parent[n]]) below[n] = 1;
		if (below[n]) nodes.push(n);
	}
	return nodes;
}

// The nodes of each stack's id.
const idNodes = new WeakMap();

export function nodesOfId(model, id) {
	if (!idNodes.has(model)) {
		const found = new Map();
		for (let n = 0; n < model.nodeCount; n++) {
			const known = model.stackId(n);
			if (!known) continue;
			if (found.has(known)) found.get(known).push(n);
			else found.set(known, [n]);
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
