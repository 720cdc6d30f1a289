// SPDX-License-Identifier: MIT
// Round figures for the timeline's axes.
import { bytesStep, seconds } from "./units.js";

const ROUND = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const MINUTES = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400]; // s

// A step that is round in the units of bytes, with at most so many of it in `most`.
export function byteStep(most, lines) {
	const larger = bytesStep();
	let unit = 1;
	while (most / unit >= larger) unit *= larger;
	return unit * (ROUND.find((step) => most / (step * unit) <= lines) ?? larger);
}

// Times of a d3 scale: tens of seconds and less, else round in minutes and hours.
export function timeTicks(scale, most) {
	const [first, last] = scale.domain();
	const step = last - first > 120 ? MINUTES.find((s) => (last - first) / s <= most) : 0;
	if (step === 0) return scale.ticks(most);
	const days = step ?? 86400 * Math.ceil((last - first) / 86400 / most);
	const ticks = [];
	for (let t = Math.ceil(first / days) * days; t <= last; t += days) ticks.push(t);
	return ticks;
}

// 1.5 s, 10 min, 2 h 30 min
export function timeLabel(t) {
	if (t >= 60 && t % 60 === 0) {
		const hours = Math.floor(t / 3600);
		const minutes = (t % 3600) / 60;
		return [hours ? `${hours} h` : "", minutes ? `${minutes} min` : ""].filter(Boolean).join(" ");
	}
	return seconds(t)
		.replace(/(\.\d*?)0+(?= )/, "$1")
		.replace(/\.(?= )/, "");
}
