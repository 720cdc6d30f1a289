// SPDX-License-Identifier: MIT
// A small graph of live bytes at the borders of buckets, which lie at different distances.
import { svg } from "./dom.js";
import { bytes } from "./units.js";

const WIDTH = 96;
const HEIGHT = 20;

// `range`: [from, until] as numbers of borders, or null.
export function spark(values, border, range = null) {
	const begin = border[0];
	const length = border[border.length - 1] - begin || 1;
	let most = 0;
	for (const value of values) most = Math.max(most, value);
	const x = (i) => (((border[i] - begin) / length) * WIDTH).toFixed(1);
	const y = (value) => (HEIGHT - 1 - (most ? value / most : 0) * (HEIGHT - 3)).toFixed(1);
	let line = "";
	for (let i = 0; i < values.length; i++) line += `${i ? "L" : "M"}${x(i)} ${y(values[i])}`;
	const last = values[values.length - 1] ?? 0;
	return svg(
		"svg",
		{
			class: "spark",
			role: "img",
			viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
			width: WIDTH,
			height: HEIGHT,
			preserveAspectRatio: "none",
			"aria-label": `at most ${bytes(most)}, at the end ${bytes(last)}`,
		},
		range
			? svg("rect", {
					class: "spark-range",
					x: x(range[0]),
					y: 0,
					height: HEIGHT,
					width: Math.max(1, x(range[1]) - x(range[0])),
				})
			: null,
		svg("path", { class: "spark-area", d: `${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z` }),
		svg("path", { class: "spark-line", d: line }),
	);
}
