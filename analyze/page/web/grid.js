// SPDX-License-Identifier: MIT
// A table of any number of rows, of which only those in sight are elements. It is a real table: headings sort, each row
// has its number, and the arrow keys walk over the rows.
//
//   columns  {id, title, hint, width (rem), figure, value(row), text(row), cell(row), class}
//            fixed: its cells don't follow the range; late: they are drawn behind the row's other ones, once
//            value: what is sorted by, null comes last; text: what is shown, cell: an element instead
//   The first column has the room that the others leave, or `nameWidth` rem. It is the row's heading: a button that
//   calls pick(row), if that is given.
//
// The order is the state's: `sort` is a column's id, with "-" before it if the largest comes first.
//
// The frame after a change has the rows and the columns in sight alone. Small graphs follow behind it; the columns
// beyond the right edge and the rows around follow when there were no more changes for a while. A row keeps its
// elements when the columns change, where a column's cells may be another's.
import { fill, h } from "./dom.js";
import { shown } from "./text.js";
import { count } from "./units.js";

const MARGIN = 3; // rows drawn before and behind those in sight
const FIRST = 10; // rows drawn at once when a table comes into the page; the others follow behind the frame
const FIRST_CELLS = 120; // that a frame after a change makes, if more rows than FIRST are in sight
const KEPT = 150; // rows whose elements are kept
const PRINTED = 60;
const BESIDE = 180; // px of the window that a table leaves, as the style sheet says
const LATE = 8; // ms of drawing what follows at once
const REST = 160; // ms after the last change, until what is out of sight follows
const [FIRST_FRAME, IN_SIGHT, ALL] = [0, 1, 2]; // how much is drawn
const REM = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16; // px
let rowHeight = 31; // px, as measured last

export class Grid {
	constructor({
		label,
		columns,
		sort,
		pick,
		state,
		empty = "Nothing.",
		chosen = () => false,
		nameWidth = 0,
	}) {
		Object.assign(this, { label, pick, state, empty, chosen, nameWidth, usual: sort });
		this.given = []; // in the view's order, which decides among equal ones
		this.rows = [];
		this.drawn = new Map(); // by row, see #make()
		this.version = 0; // of the rows' figures and columns
		this.active = 0;
		this.height = rowHeight; // of a row; the next two are kept as well, because asking for them costs a layout
		this.top = 0;
		this.sight = Math.max(320, window.innerHeight - BESIDE);
		this.away = true; // from the page, until all is drawn
		this.lost = false; // its place, as it was away
		this.band = null;
		this.late = []; // rows in sight that lack cells or figures
		this.stage = FIRST_FRAME;
		this.soon = this.rest = 0; // what has been asked for
		this.width = 0; // of what is in sight; 0: not known
		this.left = 0;
		this.head = h("thead");
		this.cols = h("colgroup");
		[this.above, this.below] = [space(), space()];
		this.body = h("tbody", {
			on: { keydown: (event) => this.#key(event), focusin: (event) => this.#focused(event) },
		});
		this.table = h(
			"table",
			{ class: "grid" },
			h("caption", { class: "unseen" }, label),
			this.cols,
			this.head,
			this.body,
		);
		this.box = h(
			"div",
			{
				class: "grid-box",
				role: "region",
				tabindex: 0,
				"aria-label": label,
				on: { scroll: () => this.#scrolled() },
			},
			this.table,
		);
		this.none = h("p", { class: "about", hidden: true });
		this.cut = h("p", { class: "about on-paper" });
		this.element = h("div", { class: "grid-outer" }, this.box, this.none, this.cut);
		this.setColumns(columns);
		new ResizeObserver(() => this.#resized()).observe(this.box);
		addEventListener("beforeprint", () => {
			const { length } = this.rows;
			this.cut.textContent = length > PRINTED ? `The first ${PRINTED} of ${count(length)} rows are printed.` : "";
			this.#draw(PRINTED);
			this.#drawLate(Infinity, this.columns.length);
		});
		addEventListener("afterprint", () => {
			this.cut.textContent = "";
			this.#draw();
		});
	}

	setColumns(columns) {
		this.columns = columns;
		this.slots = slotsOf(columns);
		this.version++;
		if (this.nameWidth) this.element.style.setProperty("--name", `${this.nameWidth}rem`);
		const widths = columns.slice(1).map((column) => column.width ?? 7);
		// Other elements of the same widths would have the browser lay out all rows anew.
		if (String(widths) !== String(this.widths))
			this.cols.replaceChildren(
				h("col"),
				...widths.map((width) => h("col", { style: { width: `${width}rem` } })),
			);
		this.widths = widths;
		const fixed = widths.reduce((sum, width) => sum + width, 0);
		this.element.style.setProperty("--columns", `${fixed}rem`);
		const before = this.headings ?? [];
		this.headings = columns.map((column, i) => this.#heading(column, i, before[i]));
		if (this.headings.length !== before.length || this.headings.some((heading, i) => heading !== before[i]))
			this.head.replaceChildren(h("tr", { "aria-rowindex": 1 }, this.headings));
	}

	// A column's heading: that of another one before, if it can be. New elements would have to be laid out.
	#heading(column, i, before) {
		const name = this.#class(column),
			sorts = { type: "button", on: { click: () => this.#sortBy(this.columns[i]) } };
		const serves = before?.className === (name ?? "") && Boolean(before.firstElementChild) === Boolean(column.value);
		const heading = serves ? before : h("th", { scope: "col", class: name }, column.value && h("button", sorts));
		setText(column.value ? heading.firstElementChild : heading, column.title);
		heading.dataset.title = column.title;
		heading.title = column.hint ?? "";
		return heading;
	}

	// Shows other rows, or the same objects with other figures: then only what changed is drawn.
	setRows(rows) {
		this.given = rows;
		this.version++;
		this.stage = FIRST_FRAME;
		this.sort();
	}

	// The part of the run that small graphs mark; null: none. Rows follow when they are drawn.
	setBand(band) {
		if (String(band) !== String(this.band)) this.band = band;
	}

	#scrolled() {
		this.top = this.box.scrollTop;
		this.left = this.box.scrollLeft;
		this.#draw();
	}

	// Comes behind a layout, so sizes cost none here. A table that was away has lost its place.
	#resized() {
		const sight = this.box.clientHeight,
			row = this.body.querySelector("tr:not(.grid-space)");
		if (!sight) {
			this.away = this.lost = true;
			return;
		}
		this.width = this.box.clientWidth;
		if (row) rowHeight = row.offsetHeight;
		if (this.lost) this.#scrollTo(this.top);
		this.lost = false;
		if (sight === this.sight && rowHeight === this.height) return;
		[this.sight, this.height] = [sight, rowHeight];
		this.#draw();
	}

	#scrollTo(top) {
		this.box.scrollTop = top;
		this.top = this.box.scrollTop;
	}

	// Sorts by what the state says now.
	sort() {
		const said = this.state.get().sort || this.usual;
		const known = this.columns.some((column) => column.id === said.replace(/^-/, "") && column.value)
			? said
			: this.usual;
		const falling = known.startsWith("-");
		const column = this.columns.find((each) => each.id === known.replace(/^-/, "")) ?? this.columns[0];
		this.sorted = { column, falling };
		const rows = this.given,
			keys = rows.map((row) => column.value(row) ?? null);
		this.rows = Array.from(sorted(keys, falling), (i) => rows[i]);
		this.columns.forEach((each, i) => {
			if (each !== column) this.headings[i].removeAttribute("aria-sort");
			else this.headings[i].setAttribute("aria-sort", falling ? "descending" : "ascending");
		});
		this.table.setAttribute("aria-rowcount", this.rows.length + 1);
		this.none.hidden = this.rows.length > 0;
		this.box.hidden = this.rows.length === 0;
		this.none.textContent = this.rows.length ? "" : this.empty;
		this.active = Math.min(this.active, Math.max(0, this.rows.length - 1));
		this.#draw();
	}

	// Scrolls to a row of the present order; -1: to the first.
	show(number) {
		this.active = Math.max(0, number);
		this.#scrollTo(Math.max(0, (this.active - 3) * this.height));
		this.#draw();
	}

	#class(column) {
		return [column.figure ? "number" : "", column.class ?? ""].join(" ").trim() || null;
	}

	#sortBy(column) {
		const { sorted } = this;
		const falling = sorted.column === column ? !sorted.falling : Boolean(column.figure);
		this.state.set({ sort: (falling ? "-" : "") + column.id }, { history: "replace" });
		this.#scrollTo(0);
		this.stage = FIRST_FRAME;
		this.sort();
	}

	// Draws the rows in sight; `all`: so many from the first one, for printing.
	#draw(all = 0) {
		const { rows, height } = this,
			margin = this.stage === ALL ? MARGIN : 0;
		const first = Math.min(rows.length, Math.floor(this.top / height));
		const from = all ? 0 : Math.max(0, first - margin);
		const until = all
			? Math.min(all, rows.length)
			: Math.min(rows.length, first + Math.ceil(this.sight / height) + Math.max(1, margin));
		const held = this.body.contains(document.activeElement);
		if (this.drawn.size > KEPT) this.drawn.clear();
		this.near = all ? this.columns.length : this.#columnsInSight();
		const elements = [],
			now = all || held ? until : Math.min(until, from + this.#rowsNow());
		this.late = [];
		for (let i = from; i < now; i++) elements.push(this.#row(i));
		setHeight(this.above, from * height);
		setHeight(this.below, all ? 0 : (rows.length - now) * height);
		place(this.body, [this.above, ...elements, this.below]);
		if (this.late.length || this.away || this.stage !== ALL) this.#drawLater();
		if (held) {
			const button =
				this.active >= from && this.active < until
					? elements[this.active - from].querySelector("button")
					: this.box;
			(button ?? this.box).focus({ preventScroll: true });
		}
	}

	// How many columns there are from the first to the last one in sight.
	#columnsInSight() {
		const { columns, width } = this;
		if (!width) return columns.length;
		let right = leastNameWidth(this.nameWidth),
			n = 1;
		while (n < columns.length && right < this.left + width) right += (columns[n++].width ?? 7) * REM;
		return n;
	}

	#rowsNow() {
		if (this.away) return FIRST;
		return this.stage === FIRST_FRAME ? Math.max(FIRST, Math.floor(FIRST_CELLS / this.near)) : Infinity;
	}

	#drawLater() {
		this.table.setAttribute("aria-busy", "true");
		this.soon ||= requestAnimationFrame(() =>
			setTimeout(() => {
				this.soon = 0;
				this.#follow(IN_SIGHT);
			}),
		);
		clearTimeout(this.rest);
		this.rest = setTimeout(() => this.#follow(ALL), REST);
	}

	// Draws so much of the table, in parts.
	#follow(stage) {
		if (!this.box.isConnected) return;
		if (this.away || this.stage < stage) {
			this.away = false;
			this.stage = stage;
			this.#draw();
		}
		if (!this.#drawLate(LATE, stage === ALL ? this.columns.length : this.near))
			setTimeout(() => this.#follow(stage));
		else if (stage === ALL) this.table.removeAttribute("aria-busy");
	}

	// The first ones first, as far as the time goes. Whether that was far enough.
	#drawLate(most, columns) {
		const begin = performance.now();
		for (const drawn of this.late) {
			if (performance.now() - begin >= most) return false;
			this.#update(drawn, columns, true);
			if (columns === this.columns.length) drawn.version = this.version;
		}
		return true;
	}

	#row(i) {
		const row = this.rows[i];
		let drawn = this.drawn.get(row);
		if (!drawn) this.drawn.set(row, (drawn = this.#make(row)));
		if (drawn.version !== this.version) {
			if (drawn.slots !== this.slots) this.#rearrange(drawn);
			this.#update(drawn, this.near, false);
			this.late.push(drawn);
		}
		if (drawn.band !== this.band) setBand(drawn.element, this.band);
		drawn.band = this.band;
		this.#mark(drawn, i, this.chosen(row));
		return drawn.element;
	}

	// Of a row: its element; its cells, empty at first; of each the slot, and the version of what it shows, 0: nothing.
	// `version` is that of all its cells.
	#make(row) {
		const cells = this.columns.map((column, k) => this.#cell(column, k === 0));
		return {
			row,
			element: h("tr", {}, cells),
			cells,
			slots: this.slots,
			versions: new Array(cells.length).fill(0),
			version: 0,
			band: null,
		};
	}

	// Gives a row the cells of the present columns: those that it has, as far as they serve.
	#rearrange(drawn) {
		const had = new Map(drawn.slots.map((slot, k) => [slot, k])),
			{ cells, versions } = drawn;
		const kept = this.slots.map((slot) => had.get(slot));
		drawn.cells = kept.map((k, i) => (k === undefined ? this.#cell(this.columns[i], false) : cells[k]));
		drawn.versions = kept.map((k) => (k === undefined ? 0 : versions[k]));
		if (String(drawn.slots) !== String(this.slots)) place(drawn.element, drawn.cells);
		drawn.slots = this.slots;
	}

	// Brings the first cells up to date; the late ones of these only if `late`. Fixed ones, and the name, are drawn once.
	#update({ row, cells, versions }, n, late) {
		for (let k = 0; k < n; k++) {
			const column = this.columns[k],
				once = k === 0 || column.fixed;
			if (versions[k] === this.version || (once && versions[k]) || (column.late && !late)) continue;
			if (k === 0) this.#name(row, column, cells[k]);
			else if (column.cell) fill(cells[k], column.cell(row));
			else setText(cells[k], String((column.text ?? column.value)(row)));
			if (column.late && this.band) setBand(cells[k], this.band);
			versions[k] = this.version;
		}
	}

	#cell(column, isName) {
		return isName ? h("th", { scope: "row" }) : h("td", { class: this.#class(column) });
	}

	#name(row, column, cell) {
		const title = column.hover?.(row),
			content = (column.cell ?? column.text ?? column.value)(row);
		const pick = { click: () => this.#picked(row) };
		fill(
			cell,
			this.pick
				? h("button", { type: "button", class: "grid-name", title, on: pick }, content)
				: h("span", { class: "grid-name", title }, content),
		);
	}

	#mark(drawn, i, picked) {
		const { element } = drawn,
			active = i === this.active;
		if (drawn.number !== i) element.setAttribute("aria-rowindex", i + 2);
		if (drawn.picked !== picked) {
			element.classList.toggle("chosen", picked);
			if (picked) element.setAttribute("aria-current", "true");
			else element.removeAttribute("aria-current");
		}
		const button = drawn.active === active ? null : element.querySelector("button");
		if (button) button.tabIndex = active ? 0 : -1;
		Object.assign(drawn, { number: i, picked, active });
	}

	#picked(row) {
		this.active = this.rows.indexOf(row);
		this.pick(row);
		this.#draw();
	}

	#focused(event) {
		const number = Number(event.target.closest("tr")?.getAttribute("aria-rowindex"));
		if (number >= 2 && number - 2 !== this.active) {
			this.active = number - 2;
			this.#draw();
		}
	}

	#key(event) {
		const page = Math.max(1, Math.floor(this.sight / this.height) - 2);
		const to = {
			ArrowDown: this.active + 1,
			ArrowUp: this.active - 1,
			PageDown: this.active + page,
			PageUp: this.active - page,
			Home: 0,
			End: this.rows.length - 1,
		}[event.key];
		if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
		event.preventDefault();
		event.stopPropagation();
		this.active = Math.min(Math.max(to, 0), this.rows.length - 1);
		const top = this.active * this.height,
			room = this.sight - this.head.offsetHeight - this.height;
		if (top < this.top) this.#scrollTo(top);
		else if (top > this.top + room) this.#scrollTo(top - room);
		this.#draw();
		this.body.querySelector(`tr[aria-rowindex="${this.active + 2}"] button`)?.focus({ preventScroll: true });
	}
}

// px of the first column, at least: as the style sheet says.
function leastNameWidth(rem) {
	if (window.innerWidth <= 700) return Math.min(rem || 10, 10) * REM;
	return rem ? rem * REM : Math.min(Math.max(12 * REM, 0.22 * window.innerWidth), 30 * REM);
}

// By column what its cells can be used for by others: those of figures for any figure.
function slotsOf(columns) {
	let figures = 0;
	return columns.map((column) =>
		column.figure && !column.cell && !column.fixed ? `figure ${figures++} ${column.class ?? ""}` : column.id,
	);
}

function setText(cell, text) {
	if (!cell.firstChild) cell.append(shown(text));
	else if (cell.firstChild.data !== text) cell.firstChild.data = shown(text);
}

// A row as high as all that aren't drawn there.
function space() {
	return h("tr", { class: "grid-space", "aria-hidden": "true", hidden: true }, h("td"));
}

function setHeight(row, height) {
	row.hidden = height <= 0;
	row.firstChild.style.height = `${height}px`;
}

// Makes `wanted` the children. Those in their order stay, because what is moved is laid out anew.
function place(parent, wanted) {
	const stays = new Set(wanted);
	for (const child of [...parent.children]) if (!stays.has(child)) child.remove();
	let at = parent.firstChild;
	for (const child of wanted) {
		if (at && at !== child && at.nextSibling === child) {
			const later = at;
			at = child;
			later.remove();
		}
		if (at === child) at = at.nextSibling;
		else parent.insertBefore(child, at);
	}
}

function setBand(element, band) {
	for (const range of element.querySelectorAll(".spark-range")) {
		range.setAttribute("x", band ? band[0] : 0);
		range.setAttribute("width", band ? band[1] : 0);
	}
}

// The places of keys in their order. null comes last in both directions; equal ones stay as they are. A key's place is
// searched for in a sorted copy, which takes half the time of sorting the places.
function sorted(keys, falling) {
	const ranks = keys.some((key) => typeof key === "string") ? textRanks(keys) : keys;
	const numbers = Float64Array.from(ranks, (rank) => (rank === null ? Infinity : falling ? -rank : rank));
	const inOrder = numbers.slice().sort(),
		before = new Uint32Array(keys.length), // equal ones, by the first place of each value
		places = new Uint32Array(keys.length);
	for (let i = 0; i < keys.length; i++) {
		const first = firstPlace(inOrder, numbers[i]);
		places[first + before[first]++] = i;
	}
	return places;
}

function firstPlace(inOrder, number) {
	let begin = 0,
		end = inOrder.length;
	while (begin < end) {
		const middle = (begin + end) >> 1;
		if (inOrder[middle] < number) begin = middle + 1;
		else end = middle;
	}
	return begin;
}

// Of texts, which place each has among the different ones.
function textRanks(keys) {
	const texts = [...new Set(keys)].filter((key) => key !== null).sort(compareText);
	const ranks = new Map(texts.map((text, i) => [text, i]));
	return keys.map((key) => ranks.get(key) ?? null);
}

function compareText(a, b) {
	return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}

// "12 of 340 functions", "1 function"
export function shownOf(shown, all, nouns) {
	const noun = all === 1 ? nouns.replace(/ies$/, "y").replace(/s$/, "") : nouns;
	return shown === all ? `${count(all)} ${noun}` : `${count(shown)} of ${count(all)} ${noun}`;
}
