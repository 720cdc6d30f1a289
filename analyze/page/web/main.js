// SPDX-License-Identifier: MIT
// The page: reads its data, lays out header, summary, timeline, tabs, view and details, and redraws what changed.
import { load } from "./data.js";
import { changeDetails } from "./change_details.js";
import { changeHeader, changeSummary } from "./change_summary.js";
import { details } from "./details.js";
import { fill, h } from "./dom.js";
import { createState } from "./state.js";
import { footer, header, summary } from "./summary.js";
import { show } from "./text.js";
import { timeline } from "./timeline.js";
import { useDecimal } from "./units.js";
import { changeViews, views } from "./views.js";

async function open() {
	const model = await load(document);
	useDecimal(Boolean(model.meta.page?.si));
	const state = createState(model);
	const page = build(model, state);
	fill(document.getElementById("page"), page.element);
	document.title = `${show(page.name, 60)} – msreport`;
	page.update(state.get(), null);
	window.msrecPage = { model, state };
	performance.mark("drawn");
	document.documentElement.dataset.ready = "yes";
}

// The parts of a page from top to bottom, and its views: of a run, or of a comparison, which has no time.
function partsOf(model, state) {
	return model.changes
		? {
				above: [changeHeader(model, state), changeSummary(model, state)],
				aside: changeDetails(model, state),
				offered: changeViews,
			}
		: {
				above: [header(model, state), summary(model, state), timeline(model, state)],
				aside: details(model, state),
				offered: views,
			};
}

function build(model, state) {
	const { above, aside, offered } = partsOf(model, state),
		tabs = tablist(model, state, offered);
	const main = h("main", { id: "main", tabindex: -1 }, tabs.element, tabs.panel);
	const parts = [...above, tabs, aside],
		update = () => parts.forEach((part) => part.update());
	whenChanged(state, update);
	return {
		name: above[0].name,
		element: h(
			"div",
			{ class: "page" },
			above.map((part) => part.element),
			h("div", { class: "work" }, main, aside.element),
			footer(model),
		),
		update,
	};
}

// At most one redrawing a frame, however many changes there were; one more when the window changes its width.
function whenChanged(state, update) {
	let asked = false;
	const ask = () => {
		if (asked) return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			update();
		});
	};
	state.subscribe(ask);
	addEventListener("resize", ask);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);
	// Paper is light, and is drawn before the browser looks.
	addEventListener("beforeprint", () => {
		document.documentElement.dataset.print = "";
		update();
	});
	addEventListener("afterprint", () => {
		delete document.documentElement.dataset.print;
		ask();
	});
	document.fonts?.ready.then(ask);
}

// The views' tabs and the panel of the one that is open. A view is made when it is first opened.
function tablist(model, state, all) {
	const offered = all.filter((view) => !view.has || view.has(model));
	const open = new Map();
	const current = () => offered.find((view) => view.id === state.get().view) || offered[0];
	const tabs = offered.map((view) =>
		h(
			"button",
			{
				role: "tab",
				id: `tab-${view.id}`,
				"aria-controls": "panel",
				type: "button",
				on: { click: () => state.set({ view: view.id }), keydown: (event) => walk(event, view) },
			},
			view.title,
		),
	);
	const bar = h("div", { role: "tablist", class: "tabs", "aria-label": "Views" }, tabs);
	const panel = h("div", { id: "panel", role: "tabpanel", class: "panel" });
	let shown = null;

	function walk(event, view) {
		const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
		if (step === undefined) return;
		const at = offered.indexOf(view),
			n = offered.length;
		const to = Number.isFinite(step) ? (at + step + n) % n : step < 0 ? 0 : n - 1;
		event.preventDefault();
		state.set({ view: offered[to].id });
		tabs[to].focus();
	}

	function update() {
		const view = current();
		offered.forEach((other, i) => {
			tabs[i].setAttribute("aria-selected", other === view ? "true" : "false");
			tabs[i].tabIndex = other === view ? 0 : -1;
		});
		if (shown !== view) {
			if (!open.has(view.id)) open.set(view.id, view.view(model, state));
			panel.setAttribute("aria-labelledby", `tab-${view.id}`);
			fill(panel, open.get(view.id).element);
			open.get(view.id).opened?.();
			shown = view;
			setTimeout(() => inSight(tabs[offered.indexOf(shown)]));
		}
		open.get(view.id).update();
	}
	// Comes behind the frame: asking for places before it lays the page out twice.
	function inSight(tab) {
		const { offsetLeft: left, offsetWidth: width } = tab;
		if (left < bar.scrollLeft || left + width > bar.scrollLeft + bar.clientWidth) bar.scrollLeft = left;
	}
	return {
		element: bar,
		panel,
		update,
	};
}

function complain(error) {
	console.error(error);
	const old = typeof DecompressionStream === "undefined";
	fill(
		document.getElementById("page"),
		h(
			"p",
			{ class: "loading", role: "alert" },
			old
				? "This browser is too old for the page: it needs DecompressionStream (Chrome 80, Firefox 113, Safari 16.4)."
				: `The page's data can't be read: ${error.message}`,
		),
	);
	document.documentElement.dataset.ready = "failed";
}

open().catch(complain);
