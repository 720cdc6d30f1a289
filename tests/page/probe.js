// SPDX-License-Identifier: MIT
// What the tests ask an open page, beside what a user does with it.
window.probe = {
	views: () => [...document.querySelectorAll("[role=tab]")].map((tab) => tab.id.replace("tab-", "")),

	// Texts of the rows in sight.
	rows: () =>
		[...document.querySelectorAll("#panel .grid tbody tr:not(.grid-space)")].map((row) =>
			[...row.children].map((cell) => cell.textContent.trim()),
		),

	// The table of lower peaks, and the sentences of the savings.
	lowerPeaks: () =>
		[...document.querySelectorAll("#panel .lower tbody tr")].map((row) =>
			[...row.children].map((cell) => cell.textContent.trim()),
		),
	// The rows of tables that aren't to be sorted.
	sums: () =>
		[...document.querySelectorAll("#panel .sums")].map((table) =>
			[...table.querySelectorAll("tbody tr")].map((row) =>
				[...row.children].map((cell) => cell.textContent.trim()),
			),
		),
	advice: () => [...document.querySelectorAll("#panel .advice li")].map((each) => each.textContent),

	// How many pixels of the address space are blue, and how many red.
	spaceColours() {
		const canvas = document.querySelector("#panel .space canvas"),
			{ data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
		const found = { blue: 0, red: 0 };
		for (let i = 0; i < data.length; i += 4) {
			found.blue += data[i + 2] > data[i] + 60;
			found.red += data[i] > data[i + 2] + 60;
		}
		return found;
	},

	rowCount: () => Number(document.querySelector("#panel .grid").getAttribute("aria-rowcount")) - 1,

	// Clicks each heading twice: [[order, rows], [order, rows]] of each.
	sorted_rows: () =>
		[...document.querySelectorAll("#panel thead button")].map((heading) =>
			[1, 2].map(() => {
				heading.click();
				return [heading.closest("th").getAttribute("aria-sort"), probe.rows()];
			}),
		),

	// The number of the row that has the focus, and whether it is in sight.
	row() {
		const row = document.activeElement.closest("tr");
		const at = document.activeElement.getBoundingClientRect();
		const around = document.querySelector("#panel .grid-box").getBoundingClientRect();
		return [
			Number(row?.getAttribute("aria-rowindex")),
			at.top >= around.top && at.bottom <= around.bottom + 1,
		];
	},

	// The element that has the focus, the part of the page that it lies in, and whether it is in sight; null: the body.
	focus() {
		const element = document.activeElement;
		if (!element || element === document.body) return null;
		const box = element.getBoundingClientRect();
		const part = ["#panel", "[role=tablist]", ".timeline", ".details"].find((each) => element.closest(each));
		const seen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight;
		const name = element.getAttribute("aria-label") ?? element.textContent.slice(0, 80);
		return [`${element.tagName} ${name}`, part ?? "page", seen];
	},

	// Of each thread's band in the timeline its beginning and its end, in pixels, and what it says; and how many marks.
	bands: () =>
		[...document.querySelectorAll(".timeline rect.thread")].map((rect) => {
			const [x, width] = ["x", "width"].map((name) => Number(rect.getAttribute(name)));
			return [x, x + width, rect.textContent];
		}),
	marks: () => document.querySelectorAll(".timeline line.mark").length,

	// What the cards of all pins of the timeline say.
	cards: () =>
		[...document.querySelectorAll(".timeline .pin")].map((pin) => {
			pin.click();
			return document.querySelector(".timeline .card").textContent;
		}),

	// Takes the moment of the peak, as its card offers.
	takePeak() {
		document.querySelector(".timeline .pin.peak").click();
		const card = [...document.querySelectorAll(".timeline .card section")].find((each) =>
			each.textContent.startsWith("Peak: "),
		);
		card.querySelector("button").click();
		return msrecPage.state.get();
	},

	// Clicks the first box in a row of the flame graph.
	clickBox(row) {
		const box = document.querySelector("#panel .flame canvas").getBoundingClientRect();
		document
			.querySelector("#panel .flame canvas")
			.dispatchEvent(
				new MouseEvent("click", { bubbles: true, clientX: box.left + 5, clientY: box.top + 22 * row }),
			);
	},

	// The box of the flame graph that has the focus, as screen readers say it.
	activeBox: () =>
		document.getElementById(
			document.querySelector("#panel [role=tree]").getAttribute("aria-activedescendant"),
		).textContent,

	// The calls of "all", and those of the boxes below it, as screen readers say them; once they follow.
	firstBoxes: (done) =>
		setTimeout(() => {
			const items = [...document.querySelectorAll("#panel [role=tree] [role=treeitem]")];
			const level = (n) => items.filter((item) => item.getAttribute("aria-level") === n);
			done(
				[...level("1"), ...level("2")].map((item) =>
					Number(/: ([\d,]+), [^:]*$/.exec(item.textContent)[1].replaceAll(",", "")),
				),
			);
		}, 300),

	// What the outermost calls are called.
	rootNames: () => Array.from(msrecPage.model.roots, (n) => msrecPage.model.nameOf(n)),

	// How much wider than the window the page is.
	overflow: () => document.documentElement.scrollWidth - innerWidth,

	// Parts of the view that are wider than the room that they have.
	scrolled: () =>
		[...document.querySelectorAll("#panel .wide, #panel .grid-box, #panel .heat, #panel .flame canvas")]
			.filter((part) => part.scrollWidth > part.clientWidth + 1 || part.clientWidth > innerWidth)
			.map((part) => part.className),

	// [stack's id, value, whether it is "others"] of the nodes that have a value.
	nodes(metric, from, until) {
		const { model } = msrecPage;
		return Array.from(model.self(metric, from, until), (value, n) => [
			model.stackId(n),
			value,
			model.rest[n] === 1,
		]).filter((each) => each[1] !== 0);
	},

	// The same of several metrics, and whether the model says that what is kept is exact.
	range: (metrics, from, until) => ({
		exact: msrecPage.model.pairsExact(from, until),
		nodes: Object.fromEntries(metrics.map((metric) => [metric, probe.nodes(metric, from, until)])),
	}),

	// By node its value and, from the innermost outwards, the functions or libraries of its stack; null for others.
	paths(by, metric, from, until) {
		const { model } = msrecPage;
		const key = (f) =>
			by === "libraries" ? model.moduleOf(f) : `${model.functionOf(f)}\n${model.moduleOf(f)}`;
		return Array.from(model.self(metric, from, until), (value, n) => {
			const path = [];
			for (let at = n; at >= 0; at = model.parent[at])
				path.push(model.rest[at] ? null : key(model.frame[at]));
			return [value, path];
		});
	},

	functions() {
		const { model } = msrecPage;
		return Array.from({ length: model.frameCount }, (_, f) => model.functionOf(f));
	},

	// Of a comparison.
	changeFigures: () => [...msrecPage.model.changes.figures.keys()],
	listed: (figure, list) => msrecPage.model.changes.figures.get(figure).listed[list],

	// The rows of a list, as msreport has them.
	changes(figure, list) {
		const { rows, figures } = msrecPage.model.changes,
			of = figures.get(figure),
			known = (n) => (Number.isNaN(n) ? null : n);
		return rows
			.filter(({ i }) => of.list[i] === list)
			.map((row) => {
				const { i, oldLine, oldId, node, only, ...said } = row;
				return {
					...said,
					line: row.line || null,
					old_line: oldLine || null,
					old_id: oldId,
					id: row.id ?? oldId,
					old: known(of.before[i]),
					new: known(of.after[i]),
					change: of.after[i] - of.before[i],
					noise: of.noise ? known(of.noise[i]) : only === "new" ? null : 0,
				};
			});
	},

	// What the tree comes to, or all nodes of a function: old, new, the changes that count.
	changeSums(figure, name = null) {
		const { model } = msrecPage,
			of = model.changes.figures.get(figure);
		const asked = (n) => name === null || (!model.rest[n] && model.functionOf(model.frame[n]) === name);
		return ["old", "new", "counts"].map((key) =>
			(name === null ? of[key] : model.inclusive(of[key])).reduce((sum, n, i) => sum + (asked(i) ? n : 0), 0),
		);
	},

	// axe-core's violations in a part of the page; of colours alone, those that a theme may have.
	violations(part, colours, done) {
		const line = (node) => `${node.html.slice(0, 200)} :: ${node.failureSummary}`;
		axe
			.run(part, { resultTypes: ["violations"], ...(colours ? { runOnly: ["color-contrast"] } : {}) })
			.then(({ violations }) =>
				done(violations.map(({ id, impact, nodes }) => [id, impact, nodes.slice(0, 3).map(line)])),
			);
	},
};
