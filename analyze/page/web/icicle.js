// SPDX-License-Identifier: MIT
// Draws a tree of calls as an icicle on a canvas and says what lies at a point. Only the rows in sight are drawn.
import { NONE, textOn } from "./palette.js";
import { cutFunction, shown } from "./text.js";

export const ROW = 22;
const NARROWEST = 0.35,
	READABLE = 36,
	FEWEST = 7,
	PAD = 5;
const FONT = "13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

export function icicle(canvas) {
	const context = canvas.getContext("2d");
	const widths = new Map(),
		names = new Map();
	let boxes = []; // {box, x, width, row} in sight, as drawn last
	let rows = [];

	function widthOf(text) {
		let width = widths.get(text);
		if (width === undefined) {
			width = context.measureText(text).width;
			if (widths.size > 20000) widths.clear();
			widths.set(text, width);
		}
		return width;
	}

	// As much of a name as fits.
	function fitted(name, room) {
		if (widthOf(name) <= room) return name;
		const key = `${Math.floor(room / 4)} ${name}`;
		let text = names.get(key);
		if (text === undefined) {
			let most = Math.min(name.length, Math.floor(room / 4));
			do text = cutFunction(name, most);
			while (
				widthOf(text) > room &&
				(most = Math.min(most - 1, Math.floor((most * room) / widthOf(text)))) > 1
			);
			if (widthOf(text) > room || text.length < FEWEST) text = "";
			if (names.size > 20000) names.clear();
			names.set(key, text);
		}
		return text;
	}

	// With what stands before the name; of that, where there is little room, the first character alone.
	function labelled(name, mark, room) {
		if (!mark) return fitted(name, room);
		const whole = `${mark} ${name}`;
		if (widthOf(whole) <= room) return whole;
		const short = fitted(name, room - widthOf(`${mark[0]} `));
		return short ? `${mark[0]} ${short}` : mark[0];
	}

	// Where boxes lie: the path to the zoomed box in full width, then what is below it.
	function arrange({ tree, all, zoom, width }) {
		boxes = [];
		rows = [];
		const put = (box, x, w, row) => {
			(rows[row] ||= []).push(boxes.length);
			boxes.push({ box, x, width: w, row });
		};
		const path = [];
		for (let b = zoom; b >= 0; b = tree.parent[b]) path.unshift(b);
		path.forEach((b, row) => put(b, 0, width, row));
		const scale = all[zoom] > 0 ? width / all[zoom] : 0;
		for (let i = path.length - 1; i < boxes.length; i++) {
			const { box, x, row } = boxes[i];
			let left = x;
			for (let k = tree.firstChild[box]; k < tree.firstChild[box + 1]; k++) {
				const child = tree.children[k],
					w = all[child] * scale;
				if (w >= NARROWEST) put(child, left, w, row + 1);
				left += w;
			}
		}
		return rows.length;
	}

	function draw({
		top,
		height,
		width,
		colours,
		classes,
		tints,
		shades,
		ordered,
		nameOf,
		markOf,
		matched,
		searching,
		chosen,
		over,
		zoomRow,
		ratio,
	}) {
		const w = Math.round(width * ratio),
			h = Math.round(height * ratio);
		if (canvas.width !== w || canvas.height !== h) {
			canvas.width = w;
			canvas.height = h;
			canvas.style.width = `${width}px`;
			canvas.style.height = `${height}px`;
		}
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, width, height);
		context.font = FONT;
		context.textBaseline = "middle";
		const first = Math.max(0, Math.floor(top / ROW)),
			last = Math.min(rows.length, Math.ceil((top + height) / ROW) + 1);
		for (let row = first; row < last; row++)
			for (const i of rows[row] || []) {
				const { box, x, width: bw } = boxes[i],
					y = row * ROW - top;
				const found = searching && matched[box];
				const of = box && classes[box] !== NONE ? shades[classes[box]] : null;
				const fill = found ? colours.match : of ? of[tints[box] % of.length] : colours.other;
				context.globalAlpha = searching && !found ? 0.35 : row < zoomRow ? 0.6 : 1;
				context.fillStyle = fill;
				const gap = bw > 3 ? 1 : 0;
				context.fillRect(x, y, Math.max(bw - gap, 0.5), ROW - 1);
				context.globalAlpha = 1;
				if (bw >= READABLE) {
					context.fillStyle = found
						? colours.matchText
						: searching
							? colours.text
							: ordered
								? textOn(fill)
								: colours.text;
					const text = labelled(shown(nameOf(box)), markOf(box), bw - 2 * PAD);
					if (text) context.fillText(text, Math.max(x, 0) + PAD, y + ROW / 2);
				}
			}
		for (const [box, colour, thick] of [
			[over, colours.text, 1],
			[chosen, colours.accent, 2.5],
		])
			outline(box, colour, thick, top);
	}

	function outline(box, colour, thick, top) {
		const found = box > 0 && boxes.find((b) => b.box === box);
		if (!found) return;
		context.strokeStyle = colour;
		context.lineWidth = thick;
		context.strokeRect(
			found.x + thick / 2,
			found.row * ROW - top + thick / 2,
			Math.max(found.width - 1 - thick, 1),
			ROW - 1 - thick,
		);
	}

	// The box at a point of the whole drawing, or -1.
	function at(x, y) {
		const row = rows[Math.floor(y / ROW)] || [];
		let low = 0,
			high = row.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (boxes[row[middle]].x <= x) low = middle;
			else high = middle - 1;
		}
		const found = boxes[row[low]];
		return found && x >= found.x && x <= found.x + found.width ? found.box : -1;
	}

	return { arrange, draw, at, placeOf: (box) => boxes.find((b) => b.box === box) };
}
