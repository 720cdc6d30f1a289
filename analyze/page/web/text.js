// SPDX-License-Identifier: MIT
// The one place where names of a trace become text of the page: what can't be seen is written out, long names are cut.
// A name is never markup: dom.js puts text into text nodes.

// Controls, and what reverses or hides text, as U+202E does.
const UNSEEN = new RegExp(
	"[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f]|" +
		"[\\ufeff\\ufff9-\\ufffb]|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
	"g",
);
const LONGEST = 4000;

// A name with what can't be seen written out: ‹U+202E›.
export function shown(name) {
	const text = String(name ?? "");
	const short = text.length > LONGEST ? cut(text, LONGEST) : text;
	return short.replace(UNSEEN, (c) => `‹U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

// The same, cut in the middle.
export function show(name, most = 120) {
	return cut(shown(name), most);
}

// At most `most` characters, the middle left out.
export function cut(name, most) {
	if (name.length <= most) return name;
	const head = Math.ceil((most - 1) * 0.6);
	return `${name.slice(0, head)}…${name.slice(name.length - (most - 1 - head))}`;
}

// Template arguments shortened first: std::map<…>::insert.
export function cutFunction(name, most) {
	let text = name;
	for (let depth = 0; text.length > most && depth < 8; depth++) {
		const shorter = text.replace(/<[^<>…]{2,}>/, "<…>");
		if (shorter === text) break;
		text = shorter;
	}
	return cut(text, most);
}

// A path from its end: …/lib/json.c:12
export function cutPlace(place, most) {
	return place.length <= most ? place : `…${place.slice(place.length - most + 1)}`;
}

// The last part of a path.
export function file(path) {
	const text = String(path ?? "");
	return text.slice(text.lastIndexOf("/") + 1);
}

// Says of a name whether a search finds it; /…/ is a regular expression. null: nothing is searched for.
export function tester(text) {
	if (!text.trim()) return null;
	const expression = /^\/(.+)\/?$/s.exec(text);
	if (expression)
		try {
			const made = new RegExp(expression[1].replace(/\/$/, ""), "i");
			return (name) => made.test(name);
		} catch {
			// Not finished yet: what is typed is looked for as it stands.
		}
	const small = text.toLowerCase();
	return (name) => name.toLowerCase().includes(small);
}

export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = document.createElement("textarea");
		area.value = text;
		area.className = "unseen";
		document.body.appendChild(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		return done;
	}
}
