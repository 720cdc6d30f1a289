// SPDX-License-Identifier: MIT
// The page's data: the only code that knows its bytes (docs/internals/page.md). Nodes, frames and buckets are numbers;
// what is known of them stands in typed arrays.

const MAGIC = "MSPG\x01";
const PART = {
	report: 1,
	texts: 2,
	frames: 3,
	nodes: 4,
	borders: 5,
	series: 6,
	cells: 7,
	pairs: 8,
	facts: 9,
	threads: 10,
	sources: 11,
	marks: 12,
	changes: 13,
	space: 14,
};
// By what stacks are large.
const WEIGHTS = ["peak", "end", "allocated", "calls"];
const HIDDEN = 1,
	NAMED = 2;

export const BORDER_PEAK = 1,
	BORDER_MARK = 2,
	BORDER_THREAD = 4;

export async function load(document) {
	const meta = JSON.parse(document.getElementById("meta").textContent);
	return decode(await inflate(document.getElementById("data").textContent), meta);
}

async function inflate(base64) {
	const text = atob(base64.trim());
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

// ---- Bytes ----

// A cursor over one part. Numbers above 2^53 lose their last digits.
class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	number() {
		const bytes = this.bytes;
		let byte = bytes[this.at++];
		if (byte < 0x80) return byte;
		let n = byte & 0x7f,
			scale = 0x80;
		do {
			byte = bytes[this.at++];
			n += (byte & 0x7f) * scale;
			scale *= 0x80;
		} while (byte >= 0x80);
		return n;
	}

	signed() {
		const n = this.number();
		return n % 2 ? -(n + 1) / 2 : n / 2;
	}

	column(to) {
		for (let i = 0; i < to.length; i++) to[i] = this.number();
		return to;
	}

	signedColumn(to) {
		for (let i = 0; i < to.length; i++) to[i] = this.signed();
		return to;
	}

	// Each number is the difference to the one before.
	deltas(to) {
		let n = 0;
		for (let i = 0; i < to.length; i++) to[i] = n += this.signed();
		return to;
	}

	raw(n) {
		return this.bytes.subarray(this.at, (this.at += n));
	}
}

// The parts by their numbers.
function split(bytes) {
	for (let i = 0; i < MAGIC.length; i++)
		if (bytes[i] !== MAGIC.charCodeAt(i))
			throw new Error("the page's data is damaged, or of another version");
	const parts = new Map();
	for (let at = MAGIC.length; at < bytes.length;) {
		const size = new DataView(bytes.buffer, bytes.byteOffset + at + 1).getUint32(0, true);
		parts.set(bytes[at], bytes.subarray(at + 5, at + 5 + size));
		at += 5 + size;
	}
	return parts;
}

function readTexts(reader) {
	const decoder = new TextDecoder();
	return Array.from(reader.column(new Uint32Array(reader.number())), (size) =>
		decoder.decode(reader.raw(size)),
	);
}

// ---- The model ----

function decode(bytes, meta) {
	const parts = split(bytes),
		part = (name) => (parts.has(PART[name]) ? new Reader(parts.get(PART[name])) : null);
	const texts = readTexts(part("texts"));
	const model = { meta: { ...meta, report: JSON.parse(new TextDecoder().decode(parts.get(PART.report))) } };
	const scale = meta.page.block; // of blocks and calls
	addFrames(model, part("frames"), texts);
	addNodes(model, part("nodes"));
	if (parts.has(PART.changes)) return addChanges(model, part("changes"), texts);
	addBorders(model, part("borders"));
	addSeries(model, part("series"), scale);
	addCells(model, part("cells"), scale);
	addPairs(model, part("pairs"), scale);
	addFacts(model, part("facts"), texts);
	addThreads(model, part("threads"), texts);
	addMarks(model, part("marks"), texts);
	addSources(model, part("sources"), texts);
	addSpace(model, part("space"));
	addSums(model);
	return model;
}

function addFrames(model, reader, texts) {
	const n = (model.frameCount = reader.number()),
		column = () => reader.column(new Uint32Array(n));
	const functions = column(),
		files = column(),
		lines = column(),
		paths = column(),
		flags = column();
	const numbers = new Map();
	model.modules = [];
	model.modulePaths = [];
	model.moduleIndex = paths.map((path) => {
		if (!numbers.has(path)) {
			numbers.set(path, model.modules.length);
			model.modulePaths.push(texts[path]);
			model.modules.push(texts[path].slice(texts[path].lastIndexOf("/") + 1));
		}
		return numbers.get(path);
	});
	model.functionOf = (f) => texts[functions[f]];
	model.fileOf = (f) => texts[files[f]];
	model.lineOf = (f) => lines[f];
	model.moduleOf = (f) => model.modules[model.moduleIndex[f]];
	model.hiddenOf = (f) => (flags[f] & HIDDEN) !== 0;
	model.namedOf = (f) => (flags[f] & NAMED) !== 0;
}

function addNodes(model, reader) {
	const n = (model.nodeCount = reader.number());
	model.allNodes = reader.number();
	model.parent = new Int32Array(n);
	for (let i = 0; i < n; i++) {
		const up = reader.number();
		model.parent[i] = up ? i - up : -1;
	}
	model.frame = new Uint32Array(n);
	model.rest = new Uint8Array(n);
	for (let i = 0; i < n; i++) {
		const frame = reader.number();
		model.rest[i] = frame ? 0 : 1;
		model.frame[i] = frame ? frame - 1 : 0;
	}
	model.others = reader.column(new Uint32Array(n));
	const ids = new DataView(reader.raw(8 * n).slice().buffer); // a part of the whole data would keep all of it
	model.stackId = (node) => {
		const low = ids.getUint32(8 * node, true),
			high = ids.getUint32(8 * node + 4, true),
			hex = (word) => word.toString(16).padStart(8, "0");
		return low || high ? hex(high) + hex(low) : "";
	};
	model.depth = new Uint32Array(n);
	for (let i = 0; i < n; i++) model.depth[i] = model.parent[i] < 0 ? 0 : model.depth[model.parent[i]] + 1;
	addChildren(model);
	model.nameOf = (node) => {
		if (!model.rest[node]) return model.functionOf(model.frame[node]);
		return model.others[node] === 1 ? "1 other" : `${model.others[node]} others`;
	};
}

function addChildren(model) {
	const n = model.nodeCount,
		begins = new Uint32Array(n + 2), // by parent + 1, so that roots have a place, too
		children = new Int32Array(n);
	for (let i = 0; i < n; i++) begins[model.parent[i] + 2]++;
	for (let i = 0; i <= n; i++) begins[i + 1] += begins[i];
	const at = begins.slice();
	for (let i = 0; i < n; i++) children[at[model.parent[i] + 1]++] = i;
	model.childrenOf = (node) => children.subarray(begins[node + 1], begins[node + 2]);
	model.roots = model.childrenOf(-1);
}

function addBorders(model, reader) {
	const n = (model.bucketCount = reader.number());
	model.borderNs = reader.deltas(new Float64Array(n + 1));
	model.borderFlags = reader.column(new Uint8Array(n + 1));
	model.highestNs = reader.signedColumn(new Float64Array(n)).map((ns, i) => ns + model.borderNs[i]);
	model.highestBytes = reader.signedColumn(new Float64Array(n));
	model.border = model.borderNs.map((ns) => ns / 1e9);
	model.highest = model.highestNs.map((ns) => ns / 1e9);
}

function addSeries(model, reader, scale) {
	const n = reader.number(),
		column = () => reader.deltas(new Float64Array(n));
	const series = { time: column(), bytes: column(), blocks: column(), calls: column() };
	series.time = series.time.map((ns) => ns / 1e9);
	series.blocks = series.blocks.map((blocks) => blocks / scale);
	const total = series.calls.map((calls) => calls / scale);
	// Calls a second since the point before.
	series.calls = total.map((calls, i) => {
		const seconds = i ? series.time[i] - series.time[i - 1] : 0;
		return seconds > 0 ? (calls - total[i - 1]) / seconds : 0;
	});
	series.totalCalls = total;
	const samples = reader.number();
	model.resident = {
		time: reader.deltas(new Float64Array(samples)).map((ns) => ns / 1e9),
		bytes: reader.deltas(new Float64Array(samples)),
	};
	series.rss = nearest(series.time, model.resident);
	model.series = series;
}

// The last sample before each time; NaN before the first one.
function nearest(times, samples) {
	let at = -1;
	return times.map((time) => {
		while (at + 1 < samples.time.length && samples.time[at + 1] <= time) at++;
		return at < 0 ? NaN : samples.bytes[at];
	});
}

// What nodes did in buckets: the cells of node i are those from first[i] to before first[i + 1], and came, net are sums
// from the node's first cell to and with the one at the index, in bytes and blocks.
function addCells(model, reader, scale) {
	const nodes = model.nodeCount,
		n = reader.number();
	const initialBytes = reader.signedColumn(new Float64Array(nodes)),
		initialBlocks = reader.signedColumn(new Float64Array(nodes)).map((blocks) => blocks / scale);
	const first = firsts(reader, nodes),
		bucket = new Uint16Array(n);
	for (let node = 0; node < nodes; node++)
		for (let i = first[node], b = 0; i < first[node + 1]; i++) bucket[i] = b += reader.number();
	const sums = (read, divisor) => {
		const to = read(new Float64Array(n));
		for (let node = 0; node < nodes; node++)
			for (let i = first[node], sum = 0; i < first[node + 1]; i++) to[i] = sum += to[i] / divisor;
		return to;
	};
	const plain = (to) => reader.column(to),
		signed = (to) => reader.signedColumn(to);
	const cameBytes = sums(plain, 1),
		cameBlocks = sums(plain, scale),
		netBytes = sums(signed, 1),
		netBlocks = sums(signed, scale);
	const highBytes = signed(new Float64Array(n)),
		highBlocks = signed(new Float64Array(n)).map((blocks) => blocks / scale);
	const columns = { cameBytes, cameBlocks, netBytes, netBlocks, highBytes, highBlocks };
	model.cells = { first, bucket, ...narrow(columns), initialBytes, initialBlocks };
}

// Columns as integers of half the size, where all values allow it.
function narrow(columns) {
	const fits = (value) => value === (value | 0);
	return Object.fromEntries(
		Object.entries(columns).map(([name, values]) => [
			name,
			values.every(fits) ? Int32Array.from(values) : values,
		]),
	);
}

function firsts(reader, n) {
	const first = new Uint32Array(n + 1);
	for (let i = 0; i < n; i++) first[i + 1] = first[i] + reader.number();
	return first;
}

// Blocks by the groups of buckets of their birth and death. Group 0 is what was there before the first bucket.
function addPairs(model, reader, scale) {
	model.hasPairs = reader !== null;
	model.pairsExact = () => false;
	if (!reader) return;
	const begins = reader.column(new Uint16Array(reader.number())), // by group - 1: its first bucket
		n = reader.number(),
		first = firsts(reader, model.nodeCount);
	const birth = new Uint16Array(n),
		death = new Uint16Array(n);
	for (let node = 0; node < model.nodeCount; node++)
		for (let i = first[node], group = 0; i < first[node + 1]; i++) birth[i] = group += reader.number();
	for (let i = 0; i < n; i++) death[i] = birth[i] + reader.number();
	const bytes = reader.column(new Float64Array(n)),
		blocks = reader.column(new Float64Array(n)).map((count) => count / scale);
	const groupAt = new Float64Array(model.bucketCount + 1); // of each border; between two groups, a fraction
	for (let border = 0, group = 0; border < groupAt.length; border++) {
		while (group < begins.length && begins[group] <= border) group++;
		const from = begins[group - 1],
			to = group < begins.length ? begins[group] : model.bucketCount;
		groupAt[border] = group + (border > from ? (border - from) / (to - from) : 0);
	}
	groupAt[model.bucketCount] = begins.length + 1;
	model.pairs = { first, birth, death, ...narrow({ bytes, blocks }), groupAt, groups: begins.length };
	model.pairsExact = (a, b) => Number.isInteger(groupAt[a]) && Number.isInteger(groupAt[b]);
}

function addFacts(model, reader, texts) {
	const n = model.nodeCount,
		column = () => reader.column(new Float64Array(n));
	const size = () => column().map((size) => (size ? size - 1 : NaN));
	const facts = (model.facts = { least: size(), most: size() });
	const verdicts = Array.from({ length: reader.number() }, () => texts[reader.number()]),
		ofNodes = reader.raw(n).slice();
	model.verdictOf = (node) => (ofNodes[node] ? verdicts[ofNodes[node]] : "");
	const names = ["freed", "temporary", "resized", "moved", "copied"],
		quantiles = ["calls50", "bytes50", "ns50", "calls99", "bytes99", "ns99"];
	model.hasLives = reader.number() === 1;
	for (const name of names) facts[name] = model.hasLives ? column() : new Float64Array(n).fill(NaN);
	for (const name of quantiles)
		facts[name] = model.hasLives
			? column().map((value, i) => (facts.freed[i] ? value : NaN))
			: new Float64Array(n).fill(NaN);
	const first = new Uint32Array(n + 1),
		shares = [];
	for (let i = 0; i < n; i++) {
		for (let k = reader.number(); k > 0; k--) shares.push(reader.number(), reader.number());
		first[i + 1] = shares.length / 2;
	}
	model.threadsOf = (node) => {
		const list = [];
		for (let i = first[node]; i < first[node + 1]; i++)
			list.push({ thread: shares[2 * i], calls: shares[2 * i + 1] });
		return list;
	};
}

// With the times of their first and last calls, in seconds; undefined: they made none.
function addThreads(model, reader, texts) {
	model.threads = Array.from({ length: reader.number() }, () => {
		const thread = { tid: reader.number(), name: texts[reader.number()], calls: reader.number() },
			first = reader.number();
		if (first) {
			thread.start = (first - 1) / 1e9;
			thread.end = (first - 1 + reader.number()) / 1e9;
		}
		return thread;
	});
}

// Moments with names, the first ones; `allMarks` is how many there are.
function addMarks(model, reader, texts) {
	model.allMarks = reader.number();
	const times = reader.deltas(new Float64Array(reader.number()));
	model.marks = Array.from(times, (ns) => ({ time: ns / 1e9, name: texts[reader.number()] }));
}

function addSources(model, reader, texts) {
	model.sources = [];
	for (let files = reader ? reader.number() : 0; files > 0; files--) {
		const source = { file: texts[reader.number()], lines: [] };
		for (let n = reader.number(), line = 0; n > 0; n--)
			source.lines.push([(line += reader.number()), texts[reader.number()]]);
		model.sources.push(source);
	}
}

// ---- Sums ----

// The index behind the node's last cell of a bucket before `border`.
function endOf(cells, node, border) {
	let low = cells.first[node],
		high = cells.first[node + 1];
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (cells.bucket[middle] < border) low = middle + 1;
		else high = middle;
	}
	return low;
}

// A prefix sum of a node at a border.
function sumAt(cells, sums, node, border) {
	const end = endOf(cells, node, border);
	return end > cells.first[node] ? sums[end - 1] : 0;
}

function addSums(model) {
	const { cells, facts } = model,
		n = model.nodeCount;
	const each = (value) => {
		const to = new Float64Array(n);
		for (let node = 0; node < n; node++) to[node] = value(node);
		return to;
	};
	const kinds = {
		Bytes: {
			initial: cells.initialBytes,
			came: cells.cameBytes,
			net: cells.netBytes,
			high: cells.highBytes,
			pairs: model.pairs?.bytes,
		},
		Blocks: {
			initial: cells.initialBlocks,
			came: cells.cameBlocks,
			net: cells.netBlocks,
			high: cells.highBlocks,
			pairs: model.pairs?.blocks,
		},
	};
	const live = (kind, border) => each((node) => kind.initial[node] + sumAt(cells, kind.net, node, border));
	const came = (kind, a, b) =>
		each((node) => sumAt(cells, kind.came, node, b) - sumAt(cells, kind.came, node, a));

	// The bucket of [a, b) with the highest moment; -1: none is higher than border a.
	model.highestBucket = (a, b) => {
		let best = a < b ? a : -1;
		for (let i = a + 1; i < b; i++) if (model.highestBytes[i] > model.highestBytes[best]) best = i;
		return best;
	};
	const peak = (kind, a, b) => {
		const bucket = model.highestBucket(a, b);
		if (bucket < 0) return live(kind, a);
		return each((node) => {
			const end = endOf(cells, node, bucket),
				before = end > cells.first[node] ? kind.net[end - 1] : 0;
			const has = end < cells.first[node + 1] && cells.bucket[end] === bucket;
			return kind.initial[node] + before + (has ? kind.high[end] : 0);
		});
	};

	// What came in the range less what of it went: live(b) - live(a) + what of live(a) went in the range. Between the
	// borders of groups, the pairs are divided evenly.
	const kept = (kind, a, b) => {
		if (!model.hasPairs) return null;
		const { first, birth, death, groupAt } = model.pairs,
			from = groupAt[a],
			to = groupAt[b];
		return each((node) => {
			const before = kind.initial[node] + sumAt(cells, kind.net, node, a),
				after = kind.initial[node] + sumAt(cells, kind.net, node, b);
			let left = 0;
			for (let i = first[node]; i < first[node + 1] && birth[i] < from; i++) {
				const share = between(birth[i], 0, from) * between(death[i], from, to);
				if (share > 0) left += share * kind.pairs[i];
			}
			const value = after - before + left;
			return model.pairsExact(a, b) ? value : Math.max(0, Math.min(value, after));
		});
	};

	const metrics = {
		live: (a, b) => live(kinds.Bytes, b),
		liveBlocks: (a, b) => live(kinds.Blocks, b),
		allocated: (a, b) => came(kinds.Bytes, a, b),
		calls: (a, b) => came(kinds.Blocks, a, b),
		peak: (a, b) => peak(kinds.Bytes, a, b),
		peakBlocks: (a, b) => peak(kinds.Blocks, a, b),
		kept: (a, b) => kept(kinds.Bytes, a, b),
		keptBlocks: (a, b) => kept(kinds.Blocks, a, b),
		end: () => live(kinds.Bytes, model.bucketCount),
		endBlocks: () => live(kinds.Blocks, model.bucketCount),
		initial: () => cells.initialBytes.slice(),
	};
	for (const name of ["temporary", "freed", "resized", "moved", "copied"])
		metrics[name] = () => facts[name].map((value) => value || 0);

	model.metrics = Object.keys(metrics);
	// By node what is its own, of the buckets from a to before b.
	model.self = (metric, a = 0, b = model.bucketCount) => metrics[metric](a, b);
	// By node what is its own and its descendants'.
	model.inclusive = (self) => inclusiveOf(model, self);
	model.total = totalOf;
	model.weights = () => WEIGHTS.map((metric) => model.self(metric));
	model.hasOwn = (node) =>
		cells.first[node + 1] > cells.first[node] || cells.initialBytes[node] !== 0 || cells.initialBlocks[node] !== 0;
	model.totalOf = totals(model, kinds);
	// The live bytes of several nodes at each border.
	model.lifeOfAll = (nodes) => {
		const life = new Float64Array(model.bucketCount + 1),
			{ initial, net } = kinds.Bytes;
		for (const node of nodes) {
			let before = 0;
			life[0] += initial[node];
			for (let i = cells.first[node]; i < cells.first[node + 1]; i++) {
				life[cells.bucket[i] + 1] += net[i] - before;
				before = net[i];
			}
		}
		for (let border = 1; border < life.length; border++) life[border] += life[border - 1];
		return life;
	};
	model.lifeOf = (node) => model.lifeOfAll([node]);
}

// Sums over all nodes that follow from the borders alone: a brush costs no pass over the nodes for them. Of all other
// metrics, totalOf() is null.
function totals(model, { Bytes, Blocks }) {
	const once = (make) => {
		let made = null;
		return () => (made ??= make());
	};
	const atBorders = (sums, initial) =>
		once(() => prefixSums(model, sums, initial ? model.total(initial) : 0));
	const live = atBorders(Bytes.net, Bytes.initial),
		liveBlocks = atBorders(Blocks.net, Blocks.initial),
		came = atBorders(Bytes.came, null),
		calls = atBorders(Blocks.came, null),
		pairs = once(() => pairSums(model));
	const known = {
		live: (a, b) => live()[b],
		liveBlocks: (a, b) => liveBlocks()[b],
		allocated: (a, b) => came()[b] - came()[a],
		calls: (a, b) => calls()[b] - calls()[a],
		kept(a, b) {
			if (!model.hasPairs || !model.pairsExact(a, b)) return null;
			const { groupAt, groups } = model.pairs,
				sums = pairs(),
				from = groupAt[a],
				to = groupAt[b];
			let left = 0;
			for (let birth = 0; birth < from; birth++)
				for (let death = from; death < to; death++) left += sums[birth * (groups + 1) + death];
			return live()[b] - live()[a] + left;
		},
	};
	return (metric, a, b) => known[metric]?.(a, b) ?? null;
}

// Of all nodes at each border: `before`, and the sums up to there.
function prefixSums(model, sums, before) {
	const { first, bucket } = model.cells,
		at = new Float64Array(model.bucketCount + 1);
	at[0] = before;
	for (let node = 0; node < model.nodeCount; node++)
		for (let i = first[node], last = 0; i < first[node + 1]; last = sums[i++])
			at[bucket[i] + 1] += sums[i] - last;
	for (let border = 1; border < at.length; border++) at[border] += at[border - 1];
	return at;
}

// Bytes of the pairs of all nodes, by groups of birth and death.
function pairSums(model) {
	const { birth, death, bytes, groups } = model.pairs,
		sums = new Float64Array((groups + 1) * (groups + 1));
	for (let i = 0; i < bytes.length; i++) sums[birth[i] * (groups + 1) + death[i]] += bytes[i];
	return sums;
}

function totalOf(self) {
	let sum = 0;
	for (let node = 0; node < self.length; node++) sum += self[node];
	return sum;
}

function inclusiveOf(model, self) {
	const sums = Float64Array.from(self);
	for (let node = sums.length - 1; node >= 0; node--)
		if (model.parent[node] >= 0) sums[model.parent[node]] += sums[node];
	return sums;
}

// The part of a group, [group, group + 1), that lies in [from, to).
function between(group, from, to) {
	return Math.max(0, Math.min(group + 1, to) - Math.max(group, from));
}

// The address space of mswhatif's player, from low rows to high ones: by row and moment what is resident, live, in
// holes beside live blocks, and on pages without one.
function addSpace(model, reader) {
	const n = reader?.number() ?? 0;
	if (!n) return;
	const time = reader.deltas(new Float64Array(n)),
		live = reader.column(new Float64Array(n)),
		rows = reader.number();
	const first = new Float64Array(rows),
		size = new Float64Array(rows);
	for (let row = 0, at = 0; row < rows; row++) {
		first[row] = at += reader.number();
		size[row] = reader.number();
	}
	const cells = Array.from({ length: rows }, () =>
		Array.from({ length: 4 }, () => reader.deltas(new Float64Array(n))),
	);
	model.space = { time, live, first, size, cells };
}

// ---- Comparisons ----

const LISTS = ["same", "grew", "shrank", "new", "gone"];
const MATCHED = ["new", "same", "renamed", "moved", "old"]; // the first and the last: only there

// The rows of a comparison, and by figure what they were and are; see msreport(1). A comparison has no time.
function addChanges(model, reader, texts) {
	const runs = reader.number(),
		n = reader.number(),
		numbers = () => reader.column(new Uint32Array(n)),
		names = () => Array.from(numbers(), (text) => texts[text] || null);
	const columns = {
		node: numbers(),
		matched: Array.from(numbers(), (how) => MATCHED[how]),
		function: names(),
		was: names(),
		file: names(),
		line: numbers(),
		oldLine: numbers(),
		module: names(),
		via: names(),
		caller: names(),
		oldId: ids(reader, n),
		id: ids(reader, n),
	};
	const rows = Array.from({ length: n }, (_, i) => {
		const row = { i };
		for (const name in columns) row[name] = columns[name][i];
		const only = row.matched === "new" || row.matched === "old" ? row.matched : null;
		if (row.was === row.function) row.was = null;
		return Object.assign(row, { only, matched: only ? null : row.matched });
	});
	const figures = new Map();
	for (let k = reader.number(); k > 0; k--) {
		const word = texts[reader.number()];
		figures.set(word, readFigure(model, reader, rows, runs, word !== "life"));
	}
	model.changes = { runs, rows, figures };
	model.bucketCount = 1;
	model.inclusive = (self) => inclusiveOf(model, self);
	model.total = totalOf;
	model.weights = () => [...figures.values()].filter(({ larger }) => larger).map(({ larger }) => larger);
	const own = Uint8Array.from(model.rest);
	for (const node of columns.node) own[node] = 1;
	model.hasOwn = (node) => own[node] === 1;
	return model;
}

function ids(reader, n) {
	const bytes = reader.raw(8 * n);
	return Array.from({ length: n }, (_, i) => {
		let id = "";
		for (let k = 7; k >= 0; k--) id += bytes[8 * i + k].toString(16).padStart(2, "0");
		return /^0+$/.test(id) ? null : id;
	});
}

// {counts of rows by list; by row before, after, list and noise, NaN is not known; by node what is its own: old, new,
// the larger of the two and the size of the change stack by stack, and `counts`: the changes beyond the noise}
function readFigure(model, reader, rows, runs, isSum) {
	const n = rows.length,
		column = () => reader.column(new Float64Array(n)).map((value) => (value ? value - 1 : NaN));
	const listed = Object.fromEntries(LISTS.map((list) => [list, reader.number()]));
	const before = column(),
		after = column(),
		list = Array.from(reader.column(new Uint8Array(n)), (number) => LISTS[number]),
		noise = runs > 1 ? column() : null;
	const figure = { listed, before, after, list, noise };
	if (!isSum) return figure;
	const own = () => new Float64Array(model.nodeCount);
	Object.assign(figure, { old: own(), new: own(), larger: own(), change: own(), counts: own() });
	const add = (node, was, is, counts) => {
		figure.old[node] += was;
		figure.new[node] += is;
		figure.larger[node] += Math.max(was, is);
		figure.change[node] += Math.abs(counts);
		figure.counts[node] += counts;
	};
	for (const { i, node } of rows)
		add(node, before[i], after[i], list[i] === "same" ? 0 : after[i] - before[i]);
	const others = [...model.rest.keys()].filter((node) => model.rest[node]),
		[was, is, counts] = [0, 1, 2].map(() => reader.signedColumn(new Float64Array(others.length)));
	others.forEach((node, i) => add(node, was[i], is[i], counts[i]));
	return figure;
}
