// SPDX-License-Identifier: MIT
// Trees of calls, as the flame graph draws them: the model's nodes with calls of one function as one box, hidden
// functions folded into their callers, from main inwards or, inverted, from the allocating functions outwards.
//
// A tree is typed arrays by box. Box 0 is all; a box comes after its parent.
//   count, parent, depth     of boxes
//   group                    function and module, see groupsOf(); -1: all
//   node                     a node of the model that the box stands for
//   leaf                     inverted: a node whose stack the box lies on; else the same as node
//   of                       by node of the model: the box to which its own figures belong
//   firstChild, children     children of b: children[firstChild[b] … firstChild[b + 1] - 1]

const MOST_BOXES = 200000; // inverted trees end here: the smallest stacks lack callers, sums stay exact
const KEPT = 4;
const groups = new WeakMap(),
	trees = new WeakMap(),
	weighed = new WeakMap();

// Frames of the same function and module are one group: names, places and search are looked up by group.
export function groupsOf(model) {
	let made = groups.get(model);
	if (!made) {
		const known = new Map(),
			of = new Uint32Array(model.frameCount),
			first = [];
		for (let f = 0; f < model.frameCount; f++) {
			const key = `${model.moduleIndex[f]} ${model.functionOf(f)}`;
			let group = known.get(key);
			if (group === undefined) {
				group = first.length;
				known.set(key, group);
				first.push(f);
			}
			of[f] = group;
		}
		made = { of, count: first.length, frame: Uint32Array.from(first) };
		groups.set(model, made);
	}
	return made;
}

// The pattern of a user: * and ? as in a shell; else the whole name.
export function pattern(text) {
	const escaped = text
		.replace(/[.+^${}()|[\]\\]/g, "\\$&")
		.replace(/\*/g, ".*")
		.replace(/\?/g, ".");
	return new RegExp(`^${escaped}$`, "s");
}

function hiddenFrames(model, fold, patterns) {
	const expressions = patterns.map(pattern),
		hidden = new Uint8Array(model.frameCount);
	for (let f = 0; f < model.frameCount; f++) {
		const name = expressions.length ? model.functionOf(f) : "";
		hidden[f] = (fold && model.hiddenOf(f)) || expressions.some((e) => e.test(name)) ? 1 : 0;
	}
	return hidden;
}

export function callTree(model, { inverted = false, fold = false, hidden = [] }) {
	if (!trees.has(model)) trees.set(model, new Map());
	const kept = trees.get(model),
		key = `${inverted} ${fold} ${hidden.join("\n")}`;
	let tree = kept.get(key);
	kept.delete(key);
	tree ||= { ...(inverted ? fromWithin : fromMain)(model, hiddenFrames(model, fold, hidden)), inverted };
	kept.set(key, tree);
	if (kept.size > KEPT) kept.delete(kept.keys().next().value);
	return tree;
}

// Grows arrays of boxes; a child is found by its parent and group, in a hash table of box numbers (0: free).
function grower(most) {
	let room = 1024;
	let table = new Uint32Array(2 * room);
	let parent = new Int32Array(room),
		group = new Int32Array(room),
		depth = new Uint16Array(room);
	let node = new Int32Array(room),
		leaf = new Int32Array(room);
	let count = 1;
	parent[0] = group[0] = node[0] = leaf[0] = -1;

	// Where the table has a child or would have it.
	function placeOf(box, g) {
		const last = table.length - 1;
		let at = (Math.imul(box, 0x9e3779b1) ^ Math.imul(g, 0x85ebca6b)) >>> 0;
		at = (at ^ (at >>> 15)) & last;
		while (table[at] && (parent[table[at]] !== box || group[table[at]] !== g)) at = (at + 1) & last;
		return at;
	}

	function more() {
		room *= 2;
		const longer = (a) => {
			const b = new a.constructor(room);
			b.set(a);
			return b;
		};
		[parent, group, depth, node, leaf] = [parent, group, depth, node, leaf].map(longer);
		table = new Uint32Array(2 * room);
		for (let b = 1; b < count; b++) table[placeOf(parent[b], group[b])] = b;
	}
	return {
		child(box, g, ofNode, ofLeaf) {
			const found = table[placeOf(box, g)];
			if (found) return found;
			if (count >= most || depth[box] === 0xffff) return box;
			if (count === room) more();
			parent[count] = box;
			group[count] = g;
			depth[count] = depth[box] + 1;
			node[count] = ofNode;
			leaf[count] = ofLeaf;
			table[placeOf(box, g)] = count;
			return count++;
		},
		find: (box, g) => table[placeOf(box, g)],
		done(of) {
			const cut = (a) => a.slice(0, count);
			return withChildren({
				count,
				of,
				parent: cut(parent),
				group: cut(group),
				depth: cut(depth),
				node: cut(node),
				leaf: cut(leaf),
			});
		},
	};
}

function withChildren(tree) {
	const { count, parent } = tree,
		firstChild = new Int32Array(count + 1),
		children = new Int32Array(Math.max(count - 1, 0));
	for (let b = 1; b < count; b++) firstChild[parent[b] + 1]++;
	for (let b = 0; b < count; b++) firstChild[b + 1] += firstChild[b];
	const next = firstChild.slice();
	for (let b = 1; b < count; b++) children[next[parent[b]]++] = b;
	let deepest = 0;
	for (let b = 0; b < count; b++) deepest = Math.max(deepest, tree.depth[b]);
	return { ...tree, firstChild, children, deepest };
}

function groupOf(model, groups, n) {
	return model.rest[n] ? groups.count : groups.of[model.frame[n]];
}

function fromMain(model, hidden) {
	const g = groupsOf(model),
		grown = grower(Infinity),
		of = new Int32Array(model.nodeCount);
	for (let n = 0; n < model.nodeCount; n++) {
		const above = model.parent[n] < 0 ? 0 : of[model.parent[n]];
		const folded = !model.rest[n] && hidden[model.frame[n]];
		of[n] = folded ? above : grown.child(above, groupOf(model, g, n), n, n);
	}
	// A stack of folded calls alone is a box of its outermost one, so that the boxes below "all" add up to it.
	for (let n = 0; n < model.nodeCount; n++) {
		if (of[n] !== 0 || !model.hasOwn(n)) continue;
		const outermost = outermostOf(model, n);
		of[n] = grown.child(0, groupOf(model, g, outermost), outermost, outermost);
	}
	return grown.done(of);
}

function fromWithin(model, hidden) {
	const g = groupsOf(model),
		grown = grower(MOST_BOXES),
		of = new Int32Array(model.nodeCount);
	const stacks = byWeight(model),
		own = new Uint8Array(model.nodeCount);
	for (const n of stacks) {
		own[n] = 1;
		let up = shownCall(model, hidden, n),
			box = grown.child(0, groupOf(model, g, up), up, n);
		while ((up = model.parent[up]) >= 0)
			if (model.rest[up] || !hidden[model.frame[up]]) box = grown.child(box, groupOf(model, g, up), up, n);
		of[n] = box;
	}
	for (let n = 0; n < model.nodeCount; n++) if (!own[n]) of[n] = grown.find(0, groupOf(model, g, n));
	return grown.done(of);
}

function outermostOf(model, n) {
	let up = n;
	while (model.parent[up] >= 0) up = model.parent[up];
	return up;
}

// The nodes with figures of their own, those first that have most of anything.
function byWeight(model) {
	let nodes = weighed.get(model);
	if (nodes) return nodes;
	const weight = new Float64Array(model.nodeCount);
	for (const values of model.weights()) {
		const total = model.total(values) || 1;
		for (let n = 0; n < weight.length; n++) weight[n] += values[n] / total;
	}
	nodes = Uint32Array.from(weight.keys())
		.filter(model.hasOwn)
		.sort((a, b) => weight[b] - weight[a] || a - b);
	weighed.set(model, nodes);
	return nodes;
}

// The innermost call of a stack that isn't hidden; a stack of hidden ones alone keeps its innermost.
function shownCall(model, hidden, n) {
	let up = n;
	while (up >= 0 && !model.rest[up] && hidden[model.frame[up]]) up = model.parent[up];
	return up < 0 ? n : up;
}

// Allocating functions, the first boxes of an inverted tree, without that tree: of each {sum, node, most}, where node
// is the stack with the largest part, and call its shown call. The largest come first.
export function allocators(model, { fold = false, hidden = [] }, values) {
	const g = groupsOf(model),
		flags = hiddenFrames(model, fold, hidden),
		found = new Map();
	for (let n = 0; n < model.nodeCount; n++) {
		if (!values[n]) continue;
		const call = shownCall(model, flags, n),
			group = groupOf(model, g, call);
		let each = found.get(group);
		if (!each) found.set(group, (each = { sum: 0, most: -Infinity }));
		each.sum += values[n];
		if (values[n] > each.most) Object.assign(each, { most: values[n], node: n, call });
	}
	return [...found.values()].filter(({ sum }) => sum > 0).sort((a, b) => b.sum - a.sum);
}

// Sums by box: its own and, inclusive, with all below it.
export function boxSums(tree, values) {
	const own = new Float64Array(tree.count);
	for (let n = 0; n < values.length; n++) own[tree.of[n]] += values[n];
	const all = own.slice();
	for (let b = tree.count - 1; b > 0; b--) all[tree.parent[b]] += all[b];
	return { own, all };
}

// Sorts the children of each box, the largest first.
export function orderChildren(tree, weight) {
	const { firstChild, children } = tree;
	for (let b = 0; b < tree.count; b++)
		if (firstChild[b + 1] - firstChild[b] > 1)
			children.subarray(firstChild[b], firstChild[b + 1]).sort((x, y) => weight[y] - weight[x] || x - y);
}

// What a box is called. Inverted, what was left out of different callers is one box.
export function boxTitle(model, tree, box) {
	const n = tree.node[box];
	return n >= 0 && model.rest[n] && tree.inverted ? "others" : nodeName(model, n);
}

// What a node is called: "12 others" for what was left out of the model.
export function nodeName(model, n) {
	return n < 0 ? "all" : model.nameOf(n);
}

export function place(model, n) {
	if (n < 0 || model.rest[n]) return "";
	const f = model.frame[n],
		file = model.fileOf(f),
		line = model.lineOf(f);
	return file ? (line ? `${file}:${line}` : file) : "";
}

// The calls of a node, the innermost first.
export function stackOf(model, n) {
	const nodes = [];
	for (let up = n; up >= 0; up = model.parent[up]) nodes.push(up);
	return nodes;
}

export function stackText(model, n) {
	return stackOf(model, n)
		.map((up) => {
			const where = place(model, up),
				module = model.rest[up] ? "" : model.moduleOf(model.frame[up]);
			return `${nodeName(model, up)}${where ? ` (${where})` : module ? ` (${module})` : ""}`;
		})
		.join("\n");
}
