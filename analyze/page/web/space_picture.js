// SPDX-License-Identifier: MIT
// The address space of mswhatif's player over time, on a canvas: low addresses at the bottom, a column for each moment.
// A cell's colour is the mixture of what its bytes are. Arrows walk over the cells; what a cell holds is said in words.
import { fill, h, onPaper, PAPER, watchWidth } from "./dom.js";
import { theme } from "./palette.js";
import { borderAt } from "./timeline.js";
import { bytes, nanoseconds } from "./units.js";

const HEIGHT = 340,
	AXIS = 20,
	LEFT = 112, // px of addresses, where there is room
	NARROW = 620;
const APART = 2 ** 24; // bytes between ranges
const FONT = "13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const FAR = { PageUp: [0, 20], PageDown: [0, -20], Home: [-Infinity, 0], End: [Infinity, 0] };

// What bytes are, in the order of mixing; the last kind is what remains of the resident ones.
export const WHAT = [
	["live", "live"],
	["holes", "holes beside live blocks"],
	["empty", "pages without a live block"],
	["rest", "headers, rounding, never used"],
];

function coloursOf(element) {
	const { changes, other, sheet, soft, text } = theme(element);
	return { live: changes[0], holes: changes[5], empty: changes[6], rest: other, none: sheet, soft, text };
}

function channels(hex) {
	return [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
}

// A cell: bytes by what they are.
export function cellOf(space, row, column) {
	const [resident, live, holes, empty] = space.cells[row].map((series) => series[column]);
	return { room: space.size[row], resident, live, holes, empty, rest: resident - live - holes - empty };
}

function colourOf(cell, mix) {
	const parts = [...WHAT.map(([key]) => [mix[key], cell[key]]), [mix.none, cell.room - cell.resident]];
	const mixed = (i) => Math.round(parts.reduce((sum, [colour, n]) => sum + colour[i] * n, 0) / cell.room);
	return `rgb(${[0, 1, 2].map(mixed).join(" ")})`;
}

function say(space, row, column) {
	const cell = cellOf(space, row, column),
		begin = space.first[row].toString(16),
		parts = WHAT.filter(([key]) => cell[key] > 0).map(([key, name]) => `${bytes(cell[key])} ${name}`);
	const there = cell.resident > 0 ? `${bytes(cell.resident)} resident: ${parts.join(", ")}` : "nothing resident";
	return `${nanoseconds(space.time[column])}, ${bytes(cell.room)} from ${begin}: ${there}.`;
}

export function spacePicture(model, state) {
	const { space } = model,
		columns = space.time.length,
		rows = space.size.length;
	const canvas = h("canvas", { "aria-hidden": "true" }),
		context = canvas.getContext("2d");
	const told = h("p", { class: "about", role: "status" });
	const box = h(
		"div",
		{
			class: "space",
			tabindex: 0,
			role: "application",
			"aria-label":
				"Address space over time. Arrows walk over moments and addresses; Enter chooses the moment. " +
				"The table below has the figures of all moments.",
			on: { keydown: onKey, focus: paint, blur: paint },
		},
		canvas,
	);
	const legend = h("ul", { class: "legend", "aria-label": "Colours", style: { "list-style": "none" } });
	let cursor = null, // [column, row]
		geometry = null;
	const wide = watchWidth(box, () => geometry && update());

	canvas.addEventListener("pointermove", (event) => point(event));
	canvas.addEventListener("click", (event) => point(event) && choose());

	function point({ offsetX, offsetY }) {
		const { left, width } = geometry,
			column = Math.floor(((offsetX - left) / width) * columns),
			row = Math.floor((1 - offsetY / HEIGHT) * rows);
		if (column < 0 || column >= columns || row < 0 || row >= rows) return false;
		move(column, row);
		return true;
	}

	function move(column, row) {
		cursor = [column, row];
		fill(told, say(space, row, column));
		paint();
	}

	function choose() {
		const border = borderAt(model, space.time[cursor[0]]);
		state.set({ from: border, until: border });
	}

	function onKey(event) {
		const step = KEYS[event.key] ?? FAR[event.key];
		if (!step && event.key !== "Enter") return;
		event.preventDefault();
		const [column, row] = cursor ?? [columns - 1, 0];
		if (!step) {
			if (!cursor) move(column, row);
			choose();
			return;
		}
		const within = (at, by, n) => Math.min(n - 1, Math.max(0, at + by));
		move(within(column, step[0], columns), within(row, step[1], rows));
	}

	function drawCells(colours) {
		const { left, width } = geometry,
			mix = Object.fromEntries(Object.entries(colours).map(([key, hex]) => [key, channels(hex)]));
		for (let c = 0; c < columns; c++) {
			const x = left + Math.round((c * width) / columns),
				next = left + Math.round(((c + 1) * width) / columns);
			for (let r = 0; r < rows; r++) {
				const cell = cellOf(space, r, c);
				if (!cell.resident) continue;
				const top = Math.round((1 - (r + 1) / rows) * HEIGHT),
					bottom = Math.round((1 - r / rows) * HEIGHT);
				context.fillStyle = colourOf(cell, mix);
				context.fillRect(x, top, Math.max(1, next - x), Math.max(1, bottom - top));
			}
		}
	}

	// A line where a range begins that lies far from the one below, and its address if there is room.
	function drawRanges(colours) {
		const { left, width } = geometry;
		let last = Infinity;
		context.font = FONT;
		context.fillStyle = context.strokeStyle = colours.soft;
		context.textAlign = "right";
		for (let r = 0; r < rows; r++) {
			if (r && space.first[r] - space.first[r - 1] - space.size[r - 1] < APART) continue;
			const y = Math.round((1 - r / rows) * HEIGHT) - 0.5;
			context.fillRect(left, y, width, 1);
			if (!left || last - y < 15) continue;
			context.fillText(space.first[r].toString(16), left - 6, y);
			last = y;
		}
	}

	function drawTimes(colours) {
		const { left, width } = geometry,
			n = width > NARROW ? 5 : 3;
		context.fillStyle = colours.soft;
		for (let i = 0; i < n; i++) {
			const column = Math.round((i * (columns - 1)) / (n - 1));
			context.textAlign = i === 0 ? "left" : i === n - 1 ? "right" : "center";
			context.fillText(nanoseconds(space.time[column]), left + (i * width) / (n - 1), HEIGHT + AXIS - 5);
		}
	}

	function drawCursor(colours) {
		if (!cursor) return;
		const [column, row] = cursor,
			{ left, width } = geometry;
		context.strokeStyle = colours.text;
		context.lineWidth = 2;
		context.strokeRect(
			left + (column * width) / columns - 1,
			(1 - (row + 1) / rows) * HEIGHT - 1,
			width / columns + 2,
			HEIGHT / rows + 2,
		);
	}

	function paint() {
		if (!geometry) return;
		const colours = coloursOf(box),
			{ ratio, all } = geometry;
		canvas.width = all * ratio;
		canvas.height = (HEIGHT + AXIS) * ratio;
		canvas.style.setProperty("width", `${all}px`);
		canvas.style.setProperty("height", `${HEIGHT + AXIS}px`);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = colours.none;
		context.fillRect(0, 0, all, HEIGHT + AXIS);
		drawCells(colours);
		drawRanges(colours);
		drawTimes(colours);
		drawCursor(colours);
		fill(
			legend,
			WHAT.map(([key, name]) =>
				h("li", {}, h("span", { class: "swatch", style: { "--swatch": colours[key] } }), name),
			),
		);
	}

	function update() {
		const all = onPaper() ? PAPER : Math.max(wide(), 200),
			left = all > NARROW ? LEFT : 0;
		geometry = { all, left, width: all - left, ratio: Math.min(window.devicePixelRatio || 1, 3) };
		paint();
	}
	return { element: h("div", {}, box, told, legend), update };
}
