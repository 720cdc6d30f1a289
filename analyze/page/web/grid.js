// SPDX-License-Identifier: MIT
// A table of any number of rows, of which only those in sight are elements. It is a real table: headings sort, each row
// has its number, and the arrow keys walk over the rows.
//
//   columns  {id, title, hint, width (rem), figure, value(row), text(row), cell(row), class}
//            fixed: its cells don't follow the range; late: they are drawn behind the row's other ones
//            value: what is sorted by, null comes last; text: what is shown, cell: an element instead
//   The first column has the room that the others leave, or `nameWidth` rem. It is the row's heading: a button that
//   calls pick(row), if that is given.
//
// The order is the state's: `sort` is a column's id, with "-" before it if the largest comes first.
import { fill, h } from "./dom.js";
import { count } from "./units.js";

const MARGIN = 3; // rows drawn before and behind those in sight
const FIRST = 14; // rows drawn at once when a table comes into the page; the others follow behind the frame
const KEPT = 150; // late cells' contents that are kept
const PRINTED = 60;
const BESIDE = 180; // px of the window that a table leaves, as the style sheet says
const LATE = 8; // ms of drawing late cells at once
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
		this.drawn = new Map(); // by row in sight: {element, cells, row, version}
		this.version = 0; // of the rows' figures
		this.active = 0;
		this.height = rowHeight; // of a row; the next two are kept as well, because asking for them costs a layout
		this.top = 0;
		this.sight = Math.max(320, window.innerHeight - BESIDE);
		this.away = true; // from the page, until all is drawn
		this.lost = false; // its place, as it was away
		this.band = null;
		this.late = new Map(); // by cell to be drawn: [column, drawn]
		this.graphs = new Map(); // by row: what a late cell has
		this.columns = this.headings = [];
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
			this.#drawLate(Infinity);
		});
		addEventListener("afterprint", () => {
			this.cut.textContent = "";
			this.#draw();
		});
	}

	// Drawn rows keep the cells of columns that stay, and of figures: with the next rows these show other ones.
	setColumns(columns) {
		const [head, tail] = staying(this.columns, columns, fits);
		for (const drawn of this.drawn.values()) {
			const { element, cells } = drawn,
				made = columns
					.slice(head, columns.length - tail)
					.map((column, i) => this.#cell(column, drawn, head + i === 0));
			const behind = cells[cells.length - tail] ?? null;
			for (const gone of cells.splice(head, cells.length - tail - head, ...made)) gone.remove();
			for (const cell of made) element.insertBefore(cell, behind);
		}
		this.#setHeadings(columns);
		this.columns = columns;
		const widths = columns.slice(1).map((column) => column.width ?? 7);
		if (String(widths) === String(this.widths)) return;
		this.widths = widths;
		this.table.style.setProperty("--columns", `${widths.reduce((sum, width) => sum + width, 0)}rem`);
		if (this.nameWidth) this.table.style.setProperty("--name", `${this.nameWidth}rem`);
		this.cols.replaceChildren(h("col"), ...widths.map((width) => h("col", { style: { width: `${width}rem` } })));
	}

	#setHeadings(columns) {
		const same = (a, b) => ["id", "title", "hint", "figure", "class"].every((key) => a[key] === b[key]);
		const [head, tail] = staying(this.columns, columns, same);
		this.headings = columns.map((column, i) => {
			if (i < head) return this.headings[i];
			if (i >= columns.length - tail) return this.headings[i - columns.length + this.headings.length];
			return h(
				"th",
				{ scope: "col", class: this.#class(column), title: column.hint, "data-title": column.title },
				column.value
					? h("button", { type: "button", on: { click: () => this.#sortBy(column.id) } }, column.title)
					: column.title,
			);
		});
		if (head + tail < Math.max(columns.length, this.columns.length))
			this.head.replaceChildren(h("tr", { "aria-rowindex": 1 }, this.headings));
	}

	// Shows other rows, or the same objects with other figures: then only what changed is drawn.
	setRows(rows) {
		this.given = rows;
		this.version++;
		this.sort();
	}

	// The part of the run that small graphs mark; null: none. Rows follow when they are drawn.
	setBand(band) {
		if (String(band) !== String(this.band)) this.band = band;
	}

	#scrolled() {
		this.top = this.box.scrollTop;
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
			keys = rows.map((row) => column.value(row) ?? null),
			places = Uint32Array.from(keys.keys()).sort((a, b) => order(keys[a], keys[b], falling) || a - b);
		this.rows = Array.from(places, (i) => rows[i]);
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

	#sortBy(id) {
		const { sorted } = this;
		const falling =
			sorted.column.id === id ? !sorted.falling : Boolean(this.columns.find((each) => each.id === id).figure);
		this.state.set({ sort: (falling ? "-" : "") + id }, { history: "replace" });
		this.#scrollTo(0);
		this.sort();
	}

	// Draws the rows in sight; `all`: so many from the first one, for printing. Elements of rows that leave the sight
	// become those of rows that come into it.
	#draw(all = 0) {
		const { rows, height } = this;
		const from = all ? 0 : Math.max(0, Math.min(rows.length, Math.floor(this.top / height)) - MARGIN);
		const until = all
			? Math.min(all, rows.length)
			: Math.min(rows.length, from + Math.ceil(this.sight / height) + 2 * MARGIN);
		const held = this.body.contains(document.activeElement);
		const now = this.away && !all && !held ? Math.min(until, from + FIRST) : until;
		const elements = this.#rows(from, now);
		setHeight(this.above, from * height);
		setHeight(this.below, all ? 0 : (rows.length - now) * height);
		place(this.body, [this.above, ...elements, this.below]);
		if (this.late.size || this.away) this.#drawLater();
		if (held) {
			const button =
				this.active >= from && this.active < until
					? elements[this.active - from].querySelector("button")
					: this.box;
			(button ?? this.box).focus({ preventScroll: true });
		}
	}

	#drawLater() {
		this.timer ||= setTimeout(() => {
			this.timer = 0;
			if (this.away && this.box.isConnected) {
				this.away = false;
				this.#draw();
			}
			this.#drawLate(LATE);
			if (this.late.size) this.#drawLater();
		});
	}

	// The first ones first, as far as the time goes.
	#drawLate(most) {
		const begin = performance.now();
		for (const [cell, [column, { row }]] of this.late) {
			if (performance.now() - begin >= most) break;
			this.late.delete(cell);
			if (!this.graphs.has(row)) this.graphs.set(row, column.cell(row));
			fill(cell, this.graphs.get(row));
			setBand(cell, this.band);
			if (this.graphs.size > KEPT) this.graphs.delete(this.graphs.keys().next().value);
		}
	}

	#rows(from, until) {
		const wanted = new Set(this.rows.slice(from, until)),
			before = this.drawn,
			free = [...before.values()].filter(({ row }) => !wanted.has(row));
		this.drawn = new Map();
		let used = 0;
		const elements = Array.from(wanted, (row, k) => {
			const drawn = before.get(row) ?? this.#bound(free[used++], row);
			this.drawn.set(row, drawn);
			this.#follow(drawn);
			this.#mark(drawn, from + k, this.chosen(row));
			return drawn.element;
		});
		for (; used < free.length; used++) for (const cell of free[used].cells) this.late.delete(cell);
		return elements;
	}

	// Makes an element show a row; without one, a new element.
	#bound(drawn, row) {
		if (drawn) {
			drawn.row = row;
			this.columns.forEach((column, k) => this.#fill(column, drawn.cells[k], drawn, k === 0));
		} else {
			drawn = { row, band: null };
			drawn.cells = this.columns.map((column, k) => this.#cell(column, drawn, k === 0));
			drawn.element = h("tr", {}, drawn.cells);
		}
		drawn.version = this.version;
		return drawn;
	}

	// Brings an element to the figures and the range of now.
	#follow(drawn) {
		const { element, cells, row, version } = drawn;
		if (version !== this.version) this.columns.forEach((column, k) => this.#redraw(row, column, cells[k]));
		drawn.version = this.version;
		if (drawn.band !== this.band) setBand(element, this.band);
		drawn.band = this.band;
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

	// The first column and fixed ones are the row's for good.
	#redraw(row, column, cell) {
		if (cell.tagName === "TH" || column.fixed) return;
		if (column.cell) {
			fill(cell, column.cell(row));
			return;
		}
		const text = String((column.text ?? column.value)(row));
		if (cell.firstChild.data !== text) cell.firstChild.data = text;
	}

	#cell(column, drawn, isName) {
		const name = (tag, more) => h(tag, { class: "grid-name", ...more });
		const cell = !isName
			? h("td", { class: this.#class(column) })
			: h(
					"th",
					{ scope: "row" },
					this.pick
						? name("button", { type: "button", on: { click: () => this.#picked(drawn.row) } })
						: name("span"),
				);
		this.#fill(column, cell, drawn, isName);
		return cell;
	}

	// Writes all that a cell has of its row.
	#fill(column, cell, drawn, isName) {
		const { row } = drawn;
		if (column.late) {
			cell.textContent = "";
			this.late.set(cell, [column, drawn]);
			return;
		}
		if (isName) {
			const title = column.hover?.(row);
			if (title) cell.firstChild.title = title;
			fill(cell.firstChild, contentOf(column, row));
		} else if (column.cell || !cell.firstChild) fill(cell, contentOf(column, row));
		else this.#redraw(row, { ...column, fixed: false }, cell);
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

function contentOf(column, row) {
	return column.cell ? column.cell(row) : (column.text ?? column.value)(row);
}

// Whether cells of one column can show another one's text.
function fits(before, after) {
	const plain = (column) => column.figure && !column.cell && !column.fixed && !column.late;
	return before.id === after.id || (plain(before) && plain(after) && before.class === after.class);
}

// How many of the first and of the last columns stay in their place.
function staying(before, after, stays) {
	const most = Math.min(before.length, after.length);
	let head = 0,
		tail = 0;
	while (head < most && stays(before[head], after[head])) head++;
	while (tail < most - head && stays(before.at(-1 - tail), after.at(-1 - tail))) tail++;
	return [head, tail];
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

// null comes last in both directions.
function order(a, b, falling) {
	if (a === null || b === null) return (a === null) - (b === null);
	const way = typeof a === "string" || typeof b === "string" ? compareText(String(a), String(b)) : a - b;
	return falling ? -way : way;
}

function compareText(a, b) {
	return a < b ? -1 : a > b ? 1 : 0;
}

// "12 of 340 functions"
export function shownOf(shown, all, noun) {
	return shown === all ? `${count(all)} ${noun}` : `${count(shown)} of ${count(all)} ${noun}`;
}
