// SPDX-License-Identifier: MIT
// Figures as people read them: the same three digits as msreport's (analyze/report/figures.c).

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const DECIMAL = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const TIME = ["ns", "us", "ms", "s"];
const RATE = ["/s", "k/s", "M/s", "G/s"];
const MANY = ["", "k", "M", "G", "T"];

// As printf(3) rounds: exact halves, which are halves in binary, to the even digit.
function fixed(value, decimals) {
	const text = value.toFixed(decimals);
	const half = Number.isInteger(value * 2 ** (decimals + 1)) && !Number.isInteger(value * 2 ** decimals);
	if (!half || Number(text.at(-1)) % 2 === 0) return text;
	return (Number(text) - Math.sign(value) / 10 ** decimals).toFixed(decimals);
}

// Divides by `step` until the figure rounds to less than that; three digits and a unit.
function scaled(value, step, units) {
	let i = 0;
	while (i + 1 < units.length && value >= step - 0.5) {
		value /= step;
		i++;
	}
	const decimals = i === 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	return `${fixed(value, decimals)} ${units[i]}`.trimEnd();
}

let decimal = false;

// msreport --si
export function useDecimal(yes) {
	decimal = yes;
}

// What a larger unit of bytes is a multiple of.
export function bytesStep() {
	return decimal ? 1000 : 1024;
}

// 1,234,567
export function count(n) {
	return Math.round(n)
		.toString()
		.replace(/\B(?=(\d{3})+$)/g, ",");
}

// "1 block", "2 blocks"
export function counted(n, noun) {
	return `${count(n)} ${noun}${Math.round(n) === 1 ? "" : "s"}`;
}

// 12.3 k: where there is no room for all digits.
export function many(n) {
	return Math.abs(n) < 1000 ? count(n) : sign(n) + scaled(Math.abs(n), 1000, MANY);
}

export function bytes(n) {
	if (n < 0) return "-" + bytes(-n);
	const step = bytesStep();
	return n < step ? `${Math.round(n)} B` : scaled(n, step, decimal ? DECIMAL : BINARY);
}

export function change(n) {
	return (n < 0 ? "-" : "+") + bytes(Math.abs(n));
}

export function nanoseconds(ns) {
	if (!(ns > 0)) return "0 s";
	const whole = Math.floor(ns / 1e9);
	if (whole < 120) return scaled(ns, 1000, TIME);
	if (whole < 7200) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
	return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
}

export function seconds(s) {
	return nanoseconds(s * 1e9);
}

export function share(part, whole = 1) {
	const percent = whole > 0 ? (part / whole) * 100 : 0;
	if (percent > 0 && percent < 1) return "<1 %";
	if (percent > 99 && percent < 100) return ">99 %";
	return `${fixed(percent, 0)} %`;
}

export function rate(n, s) {
	return scaled(s > 0 ? n / s : 0, 1000, RATE);
}

function two(n) {
	return String(n).padStart(2, "0");
}

function sign(n) {
	return n < 0 ? "-" : "";
}

// What the metrics are, in the order of the menu. `unit` says how their figures read; those that stand beside others in
// tables have a short name.
export const METRICS = [
	{
		id: "peak",
		title: "Peak in the range",
		short: "At its peak",
		unit: bytes,
		noun: "bytes live at the range's highest moment",
	},
	{
		id: "live",
		title: "Live at its end",
		short: "Live at its end",
		unit: bytes,
		noun: "bytes live at the range's end",
	},
	{
		id: "kept",
		title: "Allocated in it, still live at its end",
		short: "Kept",
		unit: bytes,
		noun: "bytes allocated in the range and live at its end",
	},
	{
		id: "allocated",
		title: "Allocated in it",
		short: "Allocated",
		unit: bytes,
		noun: "bytes allocated in the range",
	},
	{ id: "calls", title: "Calls in it", short: "Calls", unit: count, noun: "calls in the range" },
	{
		id: "peakBlocks",
		title: "Blocks at the peak",
		unit: count,
		noun: "blocks live at the range's highest moment",
	},
	{
		id: "liveBlocks",
		title: "Blocks live at its end",
		short: "Blocks",
		unit: count,
		noun: "blocks live at the range's end",
	},
	{
		id: "keptBlocks",
		title: "Blocks of it, still live",
		unit: count,
		noun: "blocks allocated in the range and live at its end",
	},
	{
		id: "temporary",
		title: "Temporary, whole run",
		unit: count,
		noun: "blocks freed before their thread's next allocation, in the whole run",
	},
	{ id: "end", title: "Never freed, whole run", unit: bytes, noun: "bytes live at the end of the run" },
];

export function metric(id) {
	return METRICS.find((m) => m.id === id) || METRICS[0];
}
