// SPDX-License-Identifier: MIT
// The run from left to right: live bytes (area), blocks and resident memory (lines), calls a second (bars), threads
// (bands), steps, marks and the peak (pins with cards). A drag chooses a range, a click a moment; both end at borders
// of the model's buckets, where all figures are exact. The two handles are sliders for the keyboard.
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import { fill, h, onPaper, PAPER, svg, watchWidth } from "./dom.js";
import { totalOf } from "./figures.js";
import { byteStep, timeLabel, timeTicks } from "./ticks.js";
import { threadName } from "./palette.js";
import { file, show } from "./text.js";
import { bytes, change, count, counted, nanoseconds, rate, seconds, share } from "./units.js";

const PINS = 26,
	LOW = 104,
	MIDDLE = 132,
	HIGH = 190,
	RATE = 26,
	BAND = 18,
	AXIS = 22,
	GAP = 5;
const MOST_BANDS = 6,
	BAR = 3,
	CLICK = 4,
	NEAR = 30,
	KEYS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

// The border nearest to a moment.
export function borderAt(model, time) {
	let low = 0,
		high = model.bucketCount;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (model.border[middle] < time) low = middle + 1;
		else high = middle;
	}
	return low > 0 && time - model.border[low - 1] < model.border[low] - time ? low - 1 : low;
}

function threadChange({ tid, name, bytes: size }) {
	return `${name ? show(name, 30) : tid} ${change(size)}`;
}

export function timeline(model, state) {
	const facts = eventsOf(model),
		bands = bandsOf(model);
	const first = model.border[0],
		last = model.border[model.bucketCount];
	const bottom = PINS + chartHeight(),
		rateTop = bottom + GAP,
		bandTop = rateTop + RATE + GAP;
	const axisTop = bandTop + bands.length * BAND,
		height = axisTop + AXIS;
	const x = scaleLinear().domain([first, last > first ? last : first + 1]);
	const still = svg("g"),
		moving = svg("g");
	const drawing = svg(
		"svg",
		{ height, role: "img", "aria-label": describe(model), preserveAspectRatio: "none" },
		still,
		moving,
	);
	const handles = ["from", "until"].map((end) => handle(end));
	const pins = h("div", {}),
		tip = h("div", { class: "tip", hidden: true });
	const chart = h("div", { class: "chart" }, drawing, ...handles, pins, tip);
	const told = h("p", { class: "range", "aria-live": "polite" });
	const whole = h(
		"button",
		{ type: "button", on: { click: () => state.set({ from: 0, until: model.bucketCount }) } },
		"Whole run",
	);
	const keys = keysOf(model, state);
	const element = h(
		"section",
		{ class: "sheet timeline", "aria-label": "Timeline" },
		h("div", { class: "bar" }, told, whole),
		chart,
		keys.element,
	);
	let width = 0,
		drawnFor = "",
		card = null;

	/* ---- What stays ---- */
	function drawStill() {
		const most = keys.highest(),
			y = scaleLinear()
				.domain([0, most || 1])
				.range([bottom, PINS]);
		const { time, bytes: live, blocks } = model.series,
			index = Array.from(time.keys());
		const step = byteStep(most, 4),
			lines = [];
		for (let v = step; v <= most * 1.0001; v += step)
			lines.push(
				svg("line", { class: "grid", x1: 0, x2: width, y1: y(v), y2: y(v) }),
				svg("text", { class: "halo", x: 12, y: y(v) + 14 }, bytes(v)),
			);
		const across = (of, scale) =>
			line()
				.x((i) => x(time[i]))
				.y((i) => scale(of[i]))(index);
		const mostBlocks = Math.max(1, ...blocks),
			b = scaleLinear()
				.domain([0, mostBlocks])
				.range([bottom, PINS + 8]);
		const rates = ratesOf(model.series, x, width),
			mostCalls = rates.reduce((most, r) => Math.max(most, r), 1),
			r = scaleLinear()
				.domain([0, mostCalls])
				.range([rateTop + RATE, rateTop + 2]);
		const ticks = timeTicks(x, Math.max(2, Math.floor(width / 110)));
		fill(
			still,
			svg("path", {
				class: "area",
				d: area()
					.x((i) => x(time[i]))
					.y0(bottom)
					.y1((i) => y(live[i]))(index),
			}),
			lines,
			svg("path", { class: "outline", d: across(live, y) }),
			keys.shows("blocks") ? svg("path", { class: "blocks", d: across(blocks, b) }) : null,
			keys.shows("rss") ? svg("path", { class: "rss", d: resident() }) : null,
			svg("line", { class: "grid", x1: 0, x2: width, y1: bottom, y2: bottom }),
			svg("path", { class: "rate", d: bars(rates, r, rateTop + RATE) }),
			svg("line", { class: "grid", x1: 0, x2: width, y1: rateTop + RATE, y2: rateTop + RATE }),
			ticks.map((t) => svg("line", { class: "grid", x1: x(t), x2: x(t), y1: PINS, y2: axisTop + 4 })),
			bands.map((band, i) => drawBand(band, bandTop + i * BAND)),
			ticks.map((t) =>
				svg(
					"text",
					{ x: Math.min(Math.max(x(t), 14), width - 30), y: axisTop + 17, "text-anchor": "middle" },
					timeLabel(t),
				),
			),
			facts.marks.map((mark) =>
				svg("line", { class: "mark", x1: x(mark.time), x2: x(mark.time), y1: PINS, y2: axisTop }),
			),
		);
		keys.tellRate(rates.reduce((most, now) => Math.max(most, now), 0));
		fill(pins, clusters([...facts.marks, ...facts.steps, facts.peak]).map(pin));
	}

	function resident() {
		const { time, bytes: most } = model.resident ?? { time: model.series.time, bytes: model.series.rss };
		const y = scaleLinear()
			.domain([0, keys.highest() || 1])
			.range([bottom, PINS]);
		const index = Array.from(time.keys()).filter((i) => most[i] > 0);
		return line()
			.x((i) => x(time[i]))
			.y((i) => y(most[i]))(index);
	}

	function drawBand({ from, until, name, calls }, top) {
		const left = x(from),
			w = Math.max(x(until) - left, 2);
		return [
			svg(
				"rect",
				{ class: "thread", x: left, y: top + 1, width: w, height: BAND - 3, rx: 3 },
				svg(
					"title",
					{},
					`${show(name, 60)}: calls from ${seconds(from)} to ${seconds(until)}, ${count(calls)}`,
				),
			),
			svg(
				"text",
				{
					x: w > 90 || left < width - 130 ? left + 5 : left - 5,
					y: top + 13,
					"text-anchor": w > 90 || left < width - 130 ? "start" : "end",
				},
				show(name, Math.max(6, Math.floor(Math.max(w, 130) / 8))),
			),
		];
	}

	// Pins that would lie on each other are one.
	function clusters(all) {
		const made = [];
		for (const fact of all.sort((a, b) => a.time - b.time)) {
			const near = made.at(-1);
			if (near && x(fact.time) - x(near[0].time) < NEAR) near.push(fact);
			else made.push([fact]);
		}
		return made;
	}

	function pin(all) {
		const main = all.find((fact) => fact.kind === "peak") ?? all[0];
		const label = all.length === 1 ? main.label : `${count(all.length)} events: ${main.label} and others`;
		const made = h(
			"button",
			{
				type: "button",
				class: `pin ${main.kind}`,
				"aria-haspopup": "dialog",
				"aria-label": label,
				title: label,
				on: { click: () => openCard(all, label, made), pointerdown: (event) => event.stopPropagation() },
			},
			glyph(main.kind),
			all.length > 1 ? h("span", { class: "number" }, all.length) : null,
		);
		const at = Math.min(Math.max(x((all.length > 1 ? all[0] : main).time), 12), width - 12);
		made.style.left = `${(100 * at) / width}%`;
		return made;
	}

	/* ---- Cards ---- */
	function openCard(all, label, from) {
		closeCard();
		const close = () => {
			closeCard();
			from.focus();
		};
		card = h(
			"div",
			{ class: "card", role: "dialog", "aria-label": label, tabindex: -1 },
			h("button", { class: "close plain", type: "button", "aria-label": "Close", on: { click: close } }, "×"),
			all.map((fact) => h("section", {}, fact.card(close))),
		);
		card.addEventListener("keydown", (event) => event.key === "Escape" && close());
		card.addEventListener("pointerdown", (event) => event.stopPropagation());
		chart.appendChild(card);
		card.style.left = `${Math.max(0, Math.min(x(all[0].time) - 200, width - card.offsetWidth))}px`;
		card.style.top = `${PINS + 4}px`;
		card.focus({ preventScroll: true });
	}

	function closeCard() {
		card?.remove();
		card = null;
	}

	function eventsOf() {
		const sections = model.meta.report?.sections ?? {},
			overview = sections.overview ?? {},
			steps = sections.steps ?? {};
		const peakTime = (overview.peak_ns ?? 0) / 1e9;
		const peak = {
			kind: "peak",
			time: peakTime,
			label: `Peak: ${bytes(overview.peak_bytes ?? 0)} at ${seconds(peakTime)}`,
			card: (close) => [
				h(
					"p",
					{},
					h("strong", {}, `Peak: ${bytes(overview.peak_bytes ?? 0)}`),
					` in ${count(overview.peak_blocks ?? 0)} blocks`,
				),
				h("p", {}, `at ${seconds(peakTime)}`),
				go(
					"Take this moment",
					() => {
						const at = borderAt(model, peakTime);
						return { from: at, until: at, metric: "live" };
					},
					close,
				),
			],
		};
		return {
			peak,
			steps: (steps.steps ?? []).map((step) =>
				stepFact(
					step,
					(steps.made_by ?? []).filter((row) => row.step === step.step),
					(steps.threads ?? []).filter((row) => row.step === step.step),
				),
			),
			marks: (model.marks ?? []).map(markFact),
		};
	}

	function go(title, where, close) {
		return h(
			"p",
			{},
			h(
				"button",
				{
					type: "button",
					on: {
						click: () => {
							state.set(where());
							close();
						},
					},
				},
				title,
			),
		);
	}

	function stepFact(step, makers, threads) {
		const from = step.from_ns / 1e9,
			until = step.until_ns / 1e9,
			up = step.bytes >= 0;
		const back =
			step.back_ns === null || step.back_ns === undefined
				? "It has not come back."
				: `It came back at ${seconds(step.back_ns / 1e9)}.`;
		return {
			kind: up ? "step" : "step down",
			time: until,
			label: `Step ${step.step}: ${change(step.bytes)} at ${seconds(until)}`,
			card: (close) => [
				h("p", {}, h("strong", {}, `Step ${step.step}: ${change(step.bytes)}`)),
				h("p", {}, `from ${seconds(from)} to ${seconds(until)}. ${back}`),
				h(
					"table",
					{},
					h(
						"tbody",
						{},
						makers
							.slice(0, 5)
							.map((row) =>
								h(
									"tr",
									{},
									h("td", { class: "number" }, change(row.bytes)),
									h(
										"td",
										{},
										show(row.function, 70),
										row.file
											? h("span", { class: "soft" }, ` ${show(file(row.file), 40)}:${row.line ?? 0}`)
											: null,
									),
								),
							),
					),
				),
				threads.length
					? h("p", { class: "soft" }, `By thread: ${threads.map(threadChange).join(", ")}`)
					: null,
				go(
					"Show what it left",
					() => {
						const a = borderAt(model, from),
							b = Math.max(borderAt(model, until), Math.min(a + 1, model.bucketCount));
						return { from: a, until: b, metric: "kept" };
					},
					close,
				),
			],
		};
	}

	function markFact(mark) {
		const { name, time } = mark;
		return {
			kind: "mark",
			time,
			label: `${show(name, 80)} at ${seconds(time)}`,
			card: (close) => [
				h("p", {}, h("strong", {}, show(name, 300))),
				h("p", {}, `at ${seconds(time)}`),
				go(
					"Take this moment",
					() => {
						const at = borderAt(model, time);
						return { from: at, until: at };
					},
					close,
				),
			],
		};
	}

	/* ---- The range ---- */
	function handle(end) {
		const made = h("div", {
			class: "handle",
			role: "slider",
			tabindex: 0,
			"aria-label": end === "from" ? "Begin of the range" : "End of the range",
			"aria-valuemin": 0,
			"aria-valuemax": model.bucketCount,
			on: { keydown: (event) => slide(event, end) },
		});
		made.style.height = `${height - PINS - AXIS}px`;
		made.style.top = `${PINS}px`;
		return made;
	}

	function slide(event, end) {
		const now = state.get(),
			to =
				event.key === "Home"
					? 0
					: event.key === "End"
						? model.bucketCount
						: KEYS[event.key]
							? now[end] + KEYS[event.key]
							: null;
		if (to === null) return;
		event.preventDefault();
		const limit =
			end === "from"
				? Math.min(Math.max(to, 0), now.until)
				: Math.max(Math.min(to, model.bucketCount), now.from);
		state.set({ [end]: limit }, { history: "replace" });
	}

	let drag = null;
	function timeAt(event) {
		return x.invert(Math.min(Math.max(event.clientX - chart.getBoundingClientRect().left, 0), width));
	}

	chart.addEventListener("pointerdown", (event) => {
		if (event.button) return;
		closeCard();
		const now = state.get(),
			at = timeAt(event),
			end = handles.indexOf(event.target);
		const inside =
			now.until > now.from &&
			!(now.from === 0 && now.until === model.bucketCount) &&
			at > model.border[now.from] &&
			at < model.border[now.until];
		const kind = end >= 0 ? "edge" : inside ? "move" : "new";
		drag = {
			kind,
			start: at,
			from: now.from,
			until: now.until,
			anchor: end === 0 ? now.until : end === 1 ? now.from : borderAt(model, at),
			x: event.clientX,
			moved: false,
		};
		chart.setPointerCapture(event.pointerId);
	});
	chart.addEventListener("pointermove", (event) => {
		if (!drag) {
			hover(event);
			return;
		}
		if (!drag.moved && Math.abs(event.clientX - drag.x) < CLICK) return;
		const history = drag.moved ? "replace" : "push",
			to = borderAt(model, timeAt(event));
		drag.moved = true;
		tip.hidden = true;
		if (drag.kind === "move") {
			const length = drag.until - drag.from,
				by = borderAt(model, model.border[drag.from] + timeAt(event) - drag.start) - drag.from;
			const from = Math.min(Math.max(drag.from + by, 0), model.bucketCount - length);
			state.set({ from, until: from + length }, { history });
		} else state.set({ from: Math.min(drag.anchor, to), until: Math.max(drag.anchor, to) }, { history });
	});
	const release = (event) => {
		if (drag && !drag.moved && event.type === "pointerup" && drag.kind !== "edge") {
			const at = borderAt(model, timeAt(event));
			state.set({ from: at, until: at });
		}
		drag = null;
	};
	chart.addEventListener("pointerup", release);
	chart.addEventListener("pointercancel", release);
	chart.addEventListener("pointerleave", () => {
		tip.hidden = true;
	});
	chart.addEventListener("dblclick", () => state.set({ from: 0, until: model.bucketCount }));

	function hover(event) {
		const { time, bytes: live, blocks, calls, rss } = model.series,
			t = timeAt(event);
		let low = 0,
			high = time.length - 1;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (time[middle] < t) low = middle + 1;
			else high = middle;
		}
		tip.hidden = event.pointerType === "touch" || event.target.closest?.(".pin, .card") !== null;
		if (tip.hidden || !time.length) return;
		fill(
			tip,
			h("strong", {}, seconds(time[low])),
			h("div", {}, `${bytes(live[low])} live in ${count(blocks[low])} blocks`),
			rss[low] > 0 ? h("div", {}, `${bytes(rss[low])} resident`) : null,
			h("div", { class: "soft" }, `${rate(calls[low], 1)} calls`),
		);
		const left = x(time[low]);
		tip.style.left = `${left + 14 + tip.offsetWidth > width ? Math.max(0, left - tip.offsetWidth - 14) : left + 14}px`;
		tip.style.top = `${PINS + 6}px`;
	}

	function drawRange({ from, until }) {
		const left = x(model.border[from]);
		const right = x(model.border[until]);
		const across = (name, begin, end) =>
			svg("rect", {
				class: name,
				x: begin,
				y: PINS,
				width: Math.max(end - begin, 0),
				height: axisTop - PINS,
			});
		const part = from !== 0 || until !== model.bucketCount;
		fill(
			moving,
			part && from < until
				? [across("shade", 0, left), across("shade", right, width), across("brush", left, right)]
				: null,
			part
				? [left, right].map((at) => svg("line", { class: "edge", x1: at, x2: at, y1: PINS, y2: axisTop }))
				: null,
		);
		[
			[handles[0], from, left],
			[handles[1], until, right],
		].forEach(([made, border, at]) => {
			made.style.left = `${Math.min(Math.max(at, 3), width - 3)}px`;
			made.setAttribute("aria-valuenow", border);
			made.setAttribute("aria-valuetext", seconds(model.border[border]));
		});
	}

	function tellRange({ from, until }) {
		const sum = (id) => totalOf(model, id, from, until),
			strong = (text) => h("strong", {}, text);
		whole.disabled = from === 0 && until === model.bucketCount;
		if (from === until) {
			fill(
				told,
				h("span", {}, "Moment ", strong(seconds(model.border[from]))),
				h("span", {}, "live ", strong(bytes(sum("live"))), ` in ${count(sum("liveBlocks"))} blocks`),
			);
			return;
		}
		const allocated = sum("allocated"),
			kept = sum("kept");
		fill(
			told,
			h(
				"span",
				{},
				whole.disabled ? "Whole run " : "Range ",
				strong(`${seconds(model.border[from])} – ${seconds(model.border[until])}`),
			),
			h("span", {}, "peak ", strong(bytes(sum("peak")))),
			h("span", {}, "live at its end ", strong(bytes(sum("live")))),
			h("span", {}, "allocated ", strong(bytes(allocated)), ` in ${counted(sum("calls"), "call")}`),
			model.hasPairs
				? h(
						"span",
						{},
						`still live ${model.pairsExact(from, until) ? "" : "about "}`,
						strong(bytes(kept)),
						` (${share(kept, allocated)})`,
					)
				: null,
		);
	}

	const widthNow = watchWidth(chart, () => update());

	function update() {
		const now = state.get(),
			wide = onPaper() ? PAPER : Math.max(widthNow(), 120),
			key = `${wide} ${keys.key()}`;
		if (key !== drawnFor) {
			drawnFor = key;
			width = wide;
			x.range([1, width - 1]);
			closeCard();
			drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
			drawStill();
		}
		drawRange(now);
		tellRange(now);
		keys.update();
	}
	return { element, update };
}

/* ---- Parts ---- */

// In a low window, the view below shall begin in sight.
function chartHeight() {
	if (matchMedia("(min-width: 1700px)").matches) return HIGH;
	return matchMedia("(min-height: 960px)").matches ? MIDDLE : LOW;
}

// For those who don't see the picture.
function describe(model) {
	const o = model.meta.report?.sections?.overview ?? {};
	const peak = `peak ${bytes(o.peak_bytes ?? 0)} at ${nanoseconds(o.peak_ns ?? 0)}`;
	return `Live bytes over ${nanoseconds(o.duration_ns ?? 0)}: ${peak}, ${bytes(o.end_bytes ?? 0)} at the end`;
}

function glyph(kind) {
	const shape = {
		peak: "M8 2l5 6-5 6-5-6z",
		step: "M8 3l6 10H2z",
		"step down": "M8 13l6-10H2z",
		mark: "M5 2h6v12l-3-3-3 3z",
	}[kind];
	return svg(
		"svg",
		{ width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" },
		svg("path", { d: shape, fill: "currentColor" }),
	);
}

// Calls a second in bars of three pixels, from the calls up to each point.
function ratesOf({ time, calls }, x, width) {
	const rates = new Float64Array(Math.ceil(width / BAR));
	let i = 1;
	let now = time[0];
	for (let bar = 0; bar < rates.length; bar++) {
		const begin = Math.max(x.invert(bar * BAR), time[0]);
		const end = Math.min(x.invert((bar + 1) * BAR), time[time.length - 1]);
		let sum = 0;
		for (now = begin; now < end && i < time.length;) {
			const until = Math.min(time[i], end);
			sum += calls[i] * Math.max(until - now, 0);
			now = Math.max(now, until);
			if (time[i] <= end) i++;
		}
		rates[bar] = end > begin ? sum / (end - begin) : 0;
	}
	return rates;
}

function bars(rates, y, bottom) {
	let d = "";
	rates.forEach((rate, i) => {
		if (rate > 0)
			d += `M${i * BAR} ${bottom}V${Math.min(y(rate), bottom - 0.6).toFixed(1)}h${BAR - 1}V${bottom}z`;
	});
	return d;
}

// From the first to the last call of each thread that made some, in the order of their beginnings. Of many, those with
// the most calls have bands of their own.
function bandsOf(model) {
	const threads = (model.threads ?? [])
		.map((thread, i) => ({ ...thread, name: threadName(thread, i) }))
		.filter((thread) => thread.start !== undefined);
	if (threads.length < 2) return [];
	const most = threads.length <= MOST_BANDS ? threads.length : MOST_BANDS - 1,
		byCalls = threads.slice().sort((a, b) => b.calls - a.calls),
		band = (of, name) => ({
			name,
			from: of.reduce((first, thread) => Math.min(first, thread.start), Infinity),
			until: of.reduce((last, thread) => Math.max(last, thread.end), 0),
			calls: of.reduce((sum, thread) => sum + thread.calls, 0),
		});
	const bands = byCalls.slice(0, most).map((thread) => band([thread], thread.name)),
		rest = byCalls.slice(most);
	bands.sort((a, b) => a.from - b.from);
	if (rest.length) bands.push(band(rest, `${count(rest.length)} more threads`));
	return bands;
}

// What the lines are, with switches for blocks and resident memory.
function keysOf(model, state) {
	const top = (values) => values.reduce((most, v) => (v > most ? v : most), 0);
	const told = h("span", {});
	const live = top(model.series.bytes),
		resident = top(model.resident?.bytes ?? model.series.rss),
		blocks = top(model.series.blocks);
	const usual = { blocks: false, rss: resident > 0 && resident <= 2.5 * live };
	const shows = (key) => (state.get()[key] ? state.get()[key] === "1" : usual[key]);
	const sample = (name, d) =>
		svg(
			"svg",
			{ width: 22, height: 12, "aria-hidden": "true", class: "chart-key" },
			svg("g", { class: "chart" }, svg("path", { class: name, d })),
		);
	const box = (key, title, name, hint = null) => {
		const input = h("input", {
			type: "checkbox",
			on: { change: () => state.set({ [key]: input.checked ? "1" : "0" }, { history: "replace" }) },
		});
		return { input, key, element: h("label", { class: "key", title: hint }, input, sample(name, "M1 6H21"), title) };
	};
	const switches = [
		box("blocks", `blocks, at most ${count(blocks)}`, "blocks", "on a scale of their own"),
		resident > 0 ? box("rss", `resident, at most ${bytes(resident)}`, "rss") : null,
	].filter(Boolean);
	return {
		element: h(
			"div",
			{ class: "keys" },
			h("span", { class: "key" }, sample("area", "M1 1H21V11H1z"), "live bytes"),
			switches.map((s) => s.element),
			h("span", { class: "key" }, sample("rate", "M2 11V5H6V11zM9 11V2H13V11zM16 11V7H20V11z"), told),
			h(
				"span",
				{ class: "how" },
				"Drag: a range. Click: a moment. ",
				model.meta.page?.sample_bytes ? "Estimates of a sample, at " : "Exact, at ",
				`${count(model.bucketCount + 1)} borders.`,
			),
		),
		shows,
		tellRate: (most) => fill(told, `calls, at most ${rate(most, 1)}`),
		key: () => `${shows("blocks")} ${shows("rss")}`,
		highest: () => Math.max(live, shows("rss") ? resident : 0),
		update: () =>
			switches.forEach((s) => {
				s.input.checked = shows(s.key);
			}),
	};
}
