// SPDX-License-Identifier: MIT
// What the page shows, as one value that the URL's hash holds: a link shows the same, and back and forward work.
//
//   view       id of a view                     from, until   borders of the range; equal: a moment
//   metric     id of units.js' METRICS          zoom          of the flame graph, see flame.js
//   inverted   callees are the roots            search        of functions, files and modules
//   hidden     patterns of functions, folded    fold          allocators and std are folded
//   colour     module, thread or lifetime       selected      a node, null: none
//   sort       a table's column, "-" before it: descending
//
// Further keys are texts, and belong to the views that set them. A key at its default isn't in the hash.

const WRITE_AFTER = 150; // ms; browsers refuse an address that changes at each move of a mouse

export function createState({ bucketCount, nodeCount }) {
	const defaults = {
		view: "flame",
		from: 0,
		until: bucketCount,
		metric: "peak",
		zoom: "",
		inverted: false,
		search: "",
		hidden: [],
		fold: true,
		colour: "module",
		selected: null,
		sort: "",
	};
	let now = sane(parse(location.hash));
	let timer = 0,
		frame = 0,
		pushing = false;
	const listeners = new Set();

	function parse(hash) {
		const read = { ...defaults };
		for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
			const like = defaults[key];
			if (typeof like === "number" || key === "selected") read[key] = Number.parseInt(text, 10);
			else if (typeof like === "boolean") read[key] = text === "1";
			else if (Array.isArray(like)) read[key] = text.split("\n").filter(Boolean);
			else read[key] = text;
		}
		return read;
	}

	function sane(read) {
		const border = (n, other) =>
			Number.isFinite(n) ? Math.min(Math.max(Math.trunc(n), 0), bucketCount) : other;
		const a = border(read.from, 0),
			b = border(read.until, bucketCount);
		const selected =
			Number.isFinite(read.selected) && read.selected >= 0 && read.selected < nodeCount
				? read.selected
				: null;
		return { ...read, selected, from: Math.min(a, b), until: Math.max(a, b) };
	}

	function format(value) {
		const words = new URLSearchParams();
		for (const [key, v] of Object.entries(value)) {
			const text = Array.isArray(v)
				? v.join("\n")
				: typeof v === "boolean"
					? v
						? "1"
						: "0"
					: String(v ?? "");
			const like = defaults[key];
			const usual = Array.isArray(like)
				? like.join("\n")
				: typeof like === "boolean"
					? like
						? "1"
						: "0"
					: String(like ?? "");
			if (text !== usual) words.set(key, text);
		}
		return `#${words}`;
	}

	// The address is changed behind the frame: that takes milliseconds.
	function writeSoon() {
		frame ||= requestAnimationFrame(() => {
			clearTimeout(timer);
			timer = setTimeout(write);
		});
	}

	function cancel() {
		clearTimeout(timer);
		cancelAnimationFrame(frame);
		timer = frame = 0;
	}

	function write() {
		cancel();
		const hash = format(now);
		if (hash === (location.hash || "#")) return;
		try {
			history[pushing ? "pushState" : "replaceState"](null, "", hash);
		} catch {
			// The browser has had enough of changes; the next one tells this too.
		}
		pushing = false;
	}

	function tell(before) {
		for (const listener of listeners) listener(now, before);
	}

	function reread() {
		cancel();
		pushing = false;
		const before = now;
		now = sane(parse(location.hash));
		tell(before);
	}
	addEventListener("popstate", reread);
	addEventListener("hashchange", () => {
		if (format(now) !== (location.hash || "#")) reread();
	});
	addEventListener("pagehide", write);

	return {
		defaults,
		get: () => now,
		// history: 'push' is a step that back returns from; 'replace' (while something is dragged or typed) is none.
		set(partial, { history: how = "push" } = {}) {
			const before = now,
				next = sane({ ...now, ...partial });
			if (format(next) === format(now)) return;
			if (how === "push") {
				write();
				pushing = true;
			}
			now = next;
			if (how === "push") writeSoon();
			else if (!timer && !frame) timer = setTimeout(write, WRITE_AFTER);
			tell(before);
		},
		subscribe(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
		// For links.
		href: (partial) => format(sane({ ...now, ...partial })),
	};
}
