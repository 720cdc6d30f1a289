// SPDX-License-Identifier: MIT
// Elements from values. Children are elements, arrays, or values that become text nodes; null, undefined and false are
// nothing. Nothing here or elsewhere makes markup of text.
import { shown } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const SAID = new Set(["title", "aria-label", "placeholder", "alt"]);
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "tabIndex"]);

// h("button", {class: "plain", "aria-label": "Close", on: {click: close}, style: {"--x": 1}, dataset: {n: 1}}, "Close")
export function h(tag, attributes, ...children) {
	return made(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
	return made(document.createElementNS(SVG, tag), attributes, children);
}

// Takes the place of all children.
export function fill(element, ...children) {
	element.textContent = "";
	append(element, children);
	return element;
}

// Whether the page is drawn for paper, and how wide what it draws is then: A4 or Letter less margins, in px.
export const PAPER = 690;

export function onPaper() {
	return "print" in document.documentElement.dataset;
}

// Says how wide an element is without making the browser lay the page out; `changed` is called when that changes.
export function watchWidth(element, changed) {
	let width = 0;
	new ResizeObserver(([entry]) => {
		const now = Math.floor(entry.contentRect.width);
		if (!now || now === width) return;
		width = now;
		changed();
	}).observe(element);
	return () => width || element.clientWidth;
}

function made(element, attributes, children) {
	for (const [key, value] of Object.entries(attributes || {})) set(element, key, value);
	append(element, children);
	return element;
}

function set(element, key, value) {
	if (value === null || value === undefined || value === false) return;
	if (key === "on")
		Object.entries(value).forEach(([event, listener]) => element.addEventListener(event, listener));
	else if (key === "style") Object.entries(value).forEach(([name, v]) => element.style.setProperty(name, v));
	else if (key === "dataset") Object.assign(element.dataset, value);
	else if (PROPERTIES.has(key)) element[key] = value;
	else element.setAttribute(key, value === true ? "" : SAID.has(key) ? shown(value) : String(value));
}

function append(to, children) {
	for (const child of children) {
		if (Array.isArray(child)) append(to, child);
		else if (child instanceof Node) to.appendChild(child);
		else if (child !== null && child !== undefined && child !== false)
			to.appendChild(document.createTextNode(shown(child)));
	}
}
