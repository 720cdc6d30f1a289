// SPDX-License-Identifier: MIT
// A small graph of live bytes at the borders of buckets, which lie at different distances.
import { svg } from "./dom.js";
import { bytes } from "./units.js";

const WIDTH = 96;
const HEIGHT = 20;

// The band is where the table says, see bandOf().
export function spark(values, border) {
	const begin = border[0];
	const length = border[border.length - 1] - begin || 1;
	let most = 0;
	for (const value of values) most = Math.max(most, value);
	const y = (value) => (HEIGHT - 1 - (most ? value / most : 0) * (HEIGHT - 3)).toFixed(1);
	let line = "";
	for (let i = 0; i < values.length; i++) {
		// What lies on a level line says nothing.
		if (i && i + 1 < values.length && values[i] === values[i - 1] && values[i] === values[i + 1]) continue;
		line += `${i ? "L" : "M"}${(((border[i] - begin) / length) * WIDTH).toFixed(1)} ${y(values[i])}`;
	}
	const last = values[values.length - 1] ?? 0;
	return svg(
		"svg",
		{
			class: "spark",
			role: "img",
			viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
			width: WIDTH,
			height: HEIGHT,
			"aria-label": `at most ${bytes(most)}, at the end ${bytes(last)}`,
		},
		svg("rect", { class: "spark-range", width: 0, height: HEIGHT }),
		svg("path", { class: "spark-area", d: `${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z` }),
		svg("path", { class: "spark-line", d: line }),
	);
}

// Where the chosen range lies in small graphs: [left, width]; null: it is the whole run.
export function bandOf(model, { from, until }) {
	const { border, bucketCount } = model;
	if (from === 0 && until === bucketCount) return null;
	const x = (i) => ((border[i] - border[0]) / (border[bucketCount] - border[0] || 1)) * WIDTH;
	return [x(from), Math.max(1, x(until) - x(from))];
}
