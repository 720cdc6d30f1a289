// SPDX-License-Identifier: MIT
// The first screen: what ran, its figures, and what stands out, each with a link to the view that says more. All
// figures are msreport's.
import { h } from "./dom.js";
import { siteOf } from "./names.js";
import { borderAt } from "./timeline.js";
import { file, show } from "./text.js";
import { bytes, change, count, counted, nanoseconds, rate, share } from "./units.js";
import { views } from "./views.js";

const UNNAMED = 0.1; // of the peak, which is worth a sentence

const sections = (model) => model.meta.report?.sections ?? {};

export function header(model, state) {
	const o = sections(model).overview ?? {};
	const run = [
		nanoseconds(o.duration_ns ?? 0),
		o.end,
		o.threads ? `${count(o.threads)} ${o.threads === 1 ? "thread" : "threads"}` : null,
		o.pid ? `process ${o.pid}` : null,
		model.meta.page?.start_ns ? startOf(model.meta.page.start_ns) : null,
		model.meta.trace ? file(model.meta.trace) : null,
	];
	return head(o.command || model.meta.trace || "a trace", run.filter(Boolean), state);
}

// What the page is about, what is known of it, and the search. `name` is the page's title as well.
export function head(name, run, state) {
	const input = h("input", {
		type: "search",
		placeholder: "Search functions, files, modules  ( / )",
		"aria-label": "Search functions, files and modules; a regular expression after /",
		autocomplete: "off",
		spellcheck: "false",
		on: {
			input: () => state.set({ search: input.value }, { history: "replace" }),
			keydown: (event) =>
				event.key === "Escape" && input.value && (event.stopPropagation(), state.set({ search: "" })),
		},
	});
	addEventListener("keydown", (event) => {
		if (
			event.key === "/" &&
			!event.ctrlKey &&
			!event.metaKey &&
			!/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)
		) {
			event.preventDefault();
			input.focus();
			input.select();
		}
	});
	return {
		name,
		element: h(
			"header",
			{ class: "top" },
			h(
				"div",
				{ class: "what" },
				h("h1", {}, show(name, 400)),
				h("p", { class: "run" }, run.map((t) => show(t, 120)).join(" · ")),
			),
			h("div", { class: "find", role: "search" }, input),
		),
		update() {
			if (input.value !== state.get().search) input.value = state.get().search;
		},
	};
}

// 2026-11-23 14:02, where the reader is
function startOf(ns) {
	const date = new Date(ns / 1e6 - new Date(ns / 1e6).getTimezoneOffset() * 60000);
	return date.toISOString().slice(0, 16).replace("T", " ");
}

// What the file is, and what it leaves out.
export function footer(model) {
	const { recorder, notes = [] } = model.meta.page ?? {};
	const above = sections(model).overview?.notes ?? [];
	const by = recorder ? `Recorded by ${recorder}.` : null;
	const said = [...notes.filter((note) => !above.includes(note)), by, "This file connects to nothing."];
	return h("footer", { class: "soft" }, said.filter(Boolean).join(" "));
}

export function summary(model, state) {
	const links = [],
		all = sections(model),
		o = all.overview ?? {};
	// A link to another state of the page; what the state is may depend on the present one.
	const link = (partial, ...children) => {
		const made = h(
			"a",
			{
				href: "#",
				on: {
					click: (event) => {
						if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
							event.preventDefault();
							state.set(partial);
							if (partial.view) document.getElementById("main").scrollIntoView({ block: "nearest" });
						}
					},
				},
			},
			...children,
		);
		links.push([made, partial]);
		return made;
	};
	const element = h(
		"section",
		{ "aria-label": "Summary", class: "summary" },
		figures(model, o, link),
		outstanding(model, all, link),
	);
	return {
		element,
		update: () => links.forEach(([made, partial]) => made.setAttribute("href", state.href(partial))),
	};
}

// A view that the page has and that has something to show, else the flame graph.
function viewFor(model, id, otherwise = {}) {
	const view = views.find((v) => v.id === id);
	return view && (!view.has || view.has(model)) ? { view: id } : { view: "flame", ...otherwise };
}

const WHOLE = (model) => ({ from: 0, until: model.bucketCount, zoom: "" });

function figures(model, o, link) {
	const whole = WHOLE(model),
		rest = (o.end_bytes ?? 0) / (o.peak_bytes || 1);
	const figure = (title, value, partial, more) => {
		const made = link(
			partial,
			h("span", { class: "name" }, title),
			h("span", { class: "value" }, value),
			h("span", { class: "more" }, more),
		);
		made.classList.add("figure");
		return h("li", {}, made);
	};
	return h(
		"ul",
		{ class: "figures", "aria-label": "Figures" },
		figure(
			"Peak",
			bytes(o.peak_bytes ?? 0),
			{ ...whole, view: "flame", metric: "peak" },
			`${counted(o.peak_blocks ?? 0, "block")} at ${nanoseconds(o.peak_ns ?? 0)}`,
		),
		figure(
			"Never freed",
			bytes(o.end_bytes ?? 0),
			{ ...whole, ...viewFor(model, "leaks", { metric: "live" }) },
			`${counted(o.end_blocks ?? 0, "block")}, ${share(rest)} of the peak`,
		),
		figure(
			"Allocated",
			bytes(o.bytes ?? 0),
			{ ...whole, view: "flame", metric: "allocated" },
			`${counted(o.calls ?? 0, "call")}, ${rate(o.calls ?? 0, (o.duration_ns ?? 0) / 1e9)}`,
		),
		o.temporary === undefined
			? null
			: figure(
					"Temporary",
					share(o.temporary, o.calls || 1),
					{ ...whole, ...viewFor(model, "churn", { metric: "temporary" }) },
					`${count(o.temporary)} freed at once`,
				),
		o.peak_resident_bytes
			? figure("Resident", bytes(o.peak_resident_bytes), { rss: "1" }, "at most, by the kernel")
			: null,
	);
}

/* ---- What stands out ---- */
function outstanding(model, all, link) {
	const o = all.overview ?? {},
		whole = WHOLE(model),
		sentences = [];
	const say = (warn, ...parts) =>
		sentences.push(h("li", { class: warn ? "warn" : null }, h("span", {}, ...parts)));
	const code = (name) => h("code", {}, show(name, 80));
	for (const note of o.notes ?? [])
		if (!/^next:|one site|grows? by|grew by|^\d+ % of the peak/.test(note))
			say(/lost|cut|partial|estimate|sample|killed/i.test(note), note);
	const [top] = o.peak_sites ?? [];
	if (top)
		say(
			false,
			link(
				{ ...whole, view: "flame", metric: "peak", search: top.function },
				`${share(top.share)} of the peak`,
			),
			` (${bytes(top.bytes)}) was allocated by `,
			code(top.function),
			".",
		);
	const growing = (all.leaks?.leaks ?? []).filter((row) => row.verdict === "growing");
	if (growing.length) {
		const fastest = growing.reduce((a, b) => (b.bytes_per_minute > a.bytes_per_minute ? b : a));
		say(
			true,
			link(
				{ ...whole, ...viewFor(model, "leaks", { metric: "live", search: fastest.function }) },
				growing.length === 1 ? "One stack grows" : `${count(growing.length)} stacks grow`,
			),
			growing.length === 1 ? " by " : ", the fastest by ",
			...(fastest.bytes_per_day === null
				? [bytes(fastest.grown_bytes ?? 0), " since ", nanoseconds(fastest.since_ns), ": "]
				: [bytes(fastest.bytes_per_minute ?? 0), " a minute: "]),
			code(fastest.function),
			".",
		);
	}
	steps(model, all, say, link, code);
	const [busy] = o.churn_sites ?? [];
	if (busy && busy.share >= 0.1)
		say(
			false,
			link(
				{ ...whole, ...viewFor(model, "churn", { metric: "calls", search: busy.function }) },
				`${share(busy.share)} of the calls`,
			),
			` (${count(busy.calls)}) came from `,
			code(busy.function),
			".",
		);
	errors(model, all.errors ?? {}, say, link);
	foreign(model, all.threads ?? {}, say, link);
	unnamed(model, say, code);
	return sentences.length ? h("ul", { class: "out", "aria-label": "What stands out" }, sentences) : null;
}

function steps(model, all, say, link, code) {
	const list = all.steps?.steps ?? [],
		largest = list.reduce((most, s) => (!most || s.bytes > most.bytes ? s : most), null);
	if (!largest || largest.bytes <= 0) return;
	const from = borderAt(model, largest.from_ns / 1e9),
		until = Math.max(borderAt(model, largest.until_ns / 1e9), Math.min(from + 1, model.bucketCount));
	const maker = (all.steps.made_by ?? []).find((row) => row.step === largest.step);
	say(
		false,
		list.length === 1 ? "The live bytes jumped once: " : `The largest of ${count(list.length)} steps: `,
		link(
			{ view: "flame", from, until, metric: "kept", zoom: "" },
			change(largest.bytes),
			" at ",
			nanoseconds(largest.until_ns),
		),
		maker ? [", by ", code(maker.function)] : null,
		largest.back_ns === null || largest.back_ns === undefined
			? ", and it has not come back."
			: `, until ${nanoseconds(largest.back_ns)}.`,
	);
}

function errors(model, e, say, link) {
	const found = [
		[e.mismatches, "block", " freed by the wrong function"],
		[e.double_frees, "block", " freed twice"],
		[e.unknown_blocks, "free", " of what was never allocated"],
		[e.failed, "call", " that gave nothing"],
	].filter(([n]) => n > 0);
	const words = ([n, noun, what]) => `${count(n)} ${noun}${n === 1 ? "" : "s"}${what}`;
	if (found.length)
		say(
			true,
			link(viewFor(model, "errors"), found.map(words).join(", ")),
			".",
		);
}

// A newcomer takes [libfoo.so+0x1234] for what a function is called.
function unnamed(model, say, code) {
	const peak = model.self("peak"),
		all = model.total(peak),
		byModule = new Map();
	peak.forEach((value, n) => {
		const site = value ? siteOf(model, n) : -1;
		if (site < 0 || model.namedOf(model.frame[site])) return;
		const module = model.moduleOf(model.frame[site]) || "unknown code";
		byModule.set(module, (byModule.get(module) ?? 0) + value);
	});
	const part = [...byModule.values()].reduce((sum, value) => sum + value, 0),
		modules = [...byModule].sort((a, b) => b[1] - a[1]).map(([module]) => module);
	if (part < UNNAMED * all || !part) return;
	const more = modules.length > 2 ? ` and ${count(modules.length - 2)} more` : "";
	say(
		false,
		`${share(part, all)} of the peak has no names of functions: symbols are missing of `,
		code(modules[0]),
		modules.length > 1 ? [", ", code(modules[1])] : null,
		`${more} (msreport --symbols).`,
	);
}

function foreign(model, t, say, link) {
	const blocks = (t.freed_by_others ?? []).reduce((sum, row) => sum + row.blocks, 0);
	const calls = (t.threads ?? []).reduce((sum, row) => sum + row.frees, 0);
	if (blocks && blocks / (calls || 1) >= 0.05)
		say(
			false,
			link(viewFor(model, "threads", { colour: "thread" }), `${share(blocks, calls)} of the blocks`),
			" were freed by another thread than the one that allocated them.",
		);
}
