// SPDX-License-Identifier: MIT
// Calls as tables and sentences show them, and what a search finds.
import { h } from "./dom.js";
import { cutFunction, cutPlace, file, shown, tester } from "./text.js";

// file:line, short. "": not known.
export function place(path, line, most = 40) {
	return path ? cutPlace(shown(file(path)) + (line ? `:${line}` : ""), most) : "";
}

// A function with its place or module behind it. `call`: {function, file, line, module, via} as msreport's rows.
export function callName(call, most = 90) {
	const where = place(call.file, call.line) || shown(call.module ?? "");
	return [
		h("span", { class: "name" }, cutFunction(shown(call.function ?? "?"), most)),
		where ? h("span", { class: "soft" }, ` ${where}`) : null,
		call.via ? h("span", { class: "soft" }, ` via ${cutFunction(shown(call.via), 40)}`) : null,
	];
}

// The same as one text with all that is known.
export function callText(call) {
	return [
		call.function,
		call.file && `${call.file}${call.line ? `:${call.line}` : ""}`,
		call.module,
		call.via && `via ${call.via}`,
	]
		.filter(Boolean)
		.map(shown)
		.join("\n");
}

// A frame of the model as a call.
export function callOfFrame(model, f) {
	return {
		function: model.functionOf(f),
		file: model.fileOf(f),
		line: model.lineOf(f),
		module: model.moduleOf(f),
		via: null,
	};
}

// Says of a call whether a search finds it.
export function finder(search) {
	const test = tester(search);
	if (!test) return () => true;
	return (call) =>
		[call.function, call.file, call.module, call.via, call.id].some((text) => text && test(String(text)));
}

// The frames of a stack from the innermost outwards.
export function path(model, node) {
	const frames = [];
	for (let n = node; n >= 0; n = model.parent[n]) if (!model.rest[n]) frames.push(model.frame[n]);
	return frames;
}

// The site of a stack: its innermost call that isn't hidden; -1: it has none.
export function siteOf(model, node) {
	let at = node;
	while (at >= 0 && (model.rest[at] || model.hiddenOf(model.frame[at]))) at = model.parent[at];
	return at;
}

const CALLERS = 4;

// The nearest callers of a site, by the functions' names. A function that calls itself is named once.
export function callersText(model, site) {
	const names = [];
	let last = site < 0 ? "" : model.functionOf(model.frame[site]);
	for (let n = site < 0 ? -1 : model.parent[site]; n >= 0 && names.length < CALLERS; n = model.parent[n]) {
		const name = model.functionOf(model.frame[n]);
		if (name !== last && !model.hiddenOf(model.frame[n])) names.push(cutFunction(shown(name), 40));
		last = name;
	}
	return names.length ? `← ${names.join(" ← ")}` : "";
}
