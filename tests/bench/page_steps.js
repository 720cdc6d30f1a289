// SPDX-License-Identifier: MIT
// The interactions that page.py measures, as kinds of steps. A step lasts from its event to the end of the frame that
// shows it; begin() and step() call back when that is.
function interactions() {
	const { model, state } = window.msrecPage;
	let seed = 1;
	const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
	const frame = () =>
		new Promise((shown) =>
			requestAnimationFrame(() => {
				const channel = new MessageChannel();
				channel.port1.onmessage = shown;
				channel.port2.postMessage(0);
			}),
		);
	const borders = model.bucketCount,
		find = (css) => document.querySelector(css);
	const pointer = (type, element, x, y, more) =>
		element.dispatchEvent(
			new PointerEvent(type, {
				bubbles: true,
				cancelable: true,
				pointerId: 1,
				isPrimary: true,
				clientX: x,
				clientY: y,
				...more,
			}),
		);
	const canvas = () => find(".flame canvas"),
		names = ["alloc", "new", "std", "main", "x", "read", "/^_/", "str"];
	const metrics = ["peak", "live", "kept", "allocated", "calls", "temporary"];
	const ranges = () => {
		const a = random(borders),
			b = a + 1 + random(borders - a);
		state.set({ from: a, until: b }, { history: "replace" });
	};
	const type = (text) => {
		const input = find(".find input");
		input.value = text;
		input.dispatchEvent(new Event("input"));
	};
	const whole = () =>
		state.set({
			from: 0,
			until: borders,
			zoom: "",
			search: "",
			hidden: [],
			inverted: false,
			fold: true,
			metric: "peak",
			by: "sites",
			sort: "",
		});
	const stacks = () => {
		find("#tab-table").click();
		state.set({ by: "stacks" });
	};
	const kinds = {
		brush: ranges,
		"brush, kept": { before: () => state.set({ metric: "kept" }), act: ranges },
		"brush, inverted": { before: () => state.set({ inverted: true, metric: "live" }), act: ranges },
		"a moment": () => {
			const at = random(borders + 1);
			state.set({ from: at, until: at });
		},
		metric: (i) => state.set({ metric: metrics[i % metrics.length] }),
		inverted: () => state.set({ inverted: !state.get().inverted }),
		fold: () => state.set({ fold: !state.get().fold }),
		hide: (i) => state.set({ hidden: i % 2 ? [] : [model.functionOf(random(model.frameCount))] }),
		colour: (i) => state.set({ colour: ["module", "thread", "lifetime"][i % 3] }),
		search: (i) => type(names[i % names.length]),
		zoom: () => {
			const box = canvas().getBoundingClientRect();
			canvas().dispatchEvent(
				new MouseEvent("click", {
					bubbles: true,
					clientX: box.left + random(Math.floor(box.width)),
					clientY: box.top + 22 * random(12) + 9,
				}),
			);
		},
		hover: () => {
			const box = canvas().getBoundingClientRect();
			pointer(
				"pointermove",
				canvas(),
				box.left + random(Math.floor(box.width)),
				box.top + 22 * random(14) + 9,
			);
		},
		select: () => state.set({ selected: random(model.nodeCount) }),
		"sort a table": {
			before: stacks,
			act: (i) => {
				const headings = document.querySelectorAll("#panel thead button");
				headings[i % headings.length].click();
			},
		},
		"filter a table": {
			before: stacks,
			act: (i) => type(names[i % names.length]),
		},
		"metric of a table": {
			before: stacks,
			act: (i) => state.set({ metric: metrics[i % metrics.length] }),
		},
	};
	for (const tab of document.querySelectorAll("[role=tab]")) {
		if (tab.id === "tab-flame") continue;
		kinds["open: " + tab.textContent] = {
			before: () => find("#tab-flame").click(),
			each: true,
			act: () => tab.click(),
		};
		kinds["brush: " + tab.textContent] = { before: () => tab.click(), act: ranges };
	}
	async function begin(name, done) {
		whole();
		find("#tab-flame").click();
		await frame();
		kinds[name].before?.();
		await frame();
		done();
	}
	// Milliseconds that step `i` takes.
	async function step(name, i, done) {
		const begin = performance.now();
		(kinds[name].act || kinds[name])(i);
		await frame();
		done(performance.now() - begin);
	}
	async function again(name, done) {
		if (kinds[name].each) kinds[name].before();
		await frame();
		await new Promise((rested) => setTimeout(rested, 5));
		done();
	}
	// A fixed amount of work: how fast the machine is at the time.
	function yardstick() {
		let sum = 0;
		for (let i = 0; i < 2e7; i++) sum = (sum * 31 + i) | 0;
		return sum;
	}
	return { names: Object.keys(kinds), begin, step, again, end: whole, yardstick };
}
window.interactions = interactions();
