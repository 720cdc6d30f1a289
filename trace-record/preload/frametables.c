/* SPDX-License-Identifier: MIT */
#include "frametables.h"

#include <stdatomic.h>
#include <string.h>

#include "cfi.h"
#include "modules.h"
#include "os.h"
#include "recorder_assert.h"
#include "rules.h"

#define TABLES_MAX 16384u
#define ROWS_MAX (UINT32_C(1) << 20)
#define ROOM_MIN 8u
#define ENTRY_BYTES_MAX (UINT64_C(1) << 20)
#define READ_BYTES_MAX (UINT64_C(1) << 28) /* of one table, with common entries each time */
#define RULE_BITS ((UINT64_C(1) << RULE_TAG_SHIFT) - 1)

/* A rule; instead of a tag it has the number of bytes for which it holds. */
struct row {
	uintptr_t start;
	uint64_t rule;
};

/* A registered table. Its rows stay reserved when it is gone, for another table that needs no more of them. */
struct table {
	const void *key;
	uintptr_t start, end; /* the code */
	uint64_t serial;      /* later ones have larger numbers */
	uint32_t rows, n_rows, room;
	/* Odd while the table is there. What a reader has read of it holds if this has not changed. */
	_Atomic uint32_t life;
};

static struct table tables[TABLES_MAX];
static _Atomic uint32_t table_count; /* release: tables below were filled once */
static struct row *rows;             /* set before table_count is not 0 */
static uint32_t rows_used;           /* <= ROWS_MAX */
static uint64_t serials;
static _Atomic bool lock;
static struct cfi_work work; /* of the thread that has the lock */

/* ---- reading a table ---- */

/* The table's size is not known: [low, high) are pages that the kernel has found readable. */
struct reading {
	uintptr_t low, high;
	uint64_t bytes; /* read so far */
	struct row last;
	struct row *rows; /* NULL: they are only counted */
	uint32_t n_rows, most;
};

static bool can_read(struct reading *r, uintptr_t at, uint64_t bytes)
{
	if (bytes > ENTRY_BYTES_MAX || at > UINTPTR_MAX - ENTRY_BYTES_MAX - PAGE)
		return false;
	if (at < r->low || at > r->high)
		r->low = r->high = at & ~(PAGE - 1);
	for (; r->high < at + bytes; r->high += PAGE)
		if (!os_readable(r->high))
			return false;
	return true;
}

static uint64_t load(uintptr_t at, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)at, bytes);
	return value;
}

struct entry {
	uintptr_t start, at, end; /* `at`: what follows its length */
};

/* False: the table ends, or is damaged. */
static bool find_entry(struct reading *r, uintptr_t start, struct entry *entry)
{
	uint64_t size;

	*entry = (struct entry){ .start = start, .at = start + 4 };
	if (!can_read(r, start, 4))
		return false;
	size = load(start, 4);
	if (size == 0xffffffff) {
		if (!can_read(r, start, 12))
			return false;
		size = load(start + 4, 8);
		entry->at = start + 12;
	}
	if (size < 4 || !can_read(r, entry->at, size))
		return false;
	entry->end = entry->at + size;
	r->bytes += size;
	return r->bytes <= READ_BYTES_MAX;
}

static bool continues(const struct row *row, uintptr_t start, uint64_t rule, uint64_t bytes)
{
	const uint64_t so_far = row->rule >> RULE_TAG_SHIFT;

	return row->start + so_far == start && (row->rule & RULE_BITS) == rule &&
	       bytes <= RULE_TAG_MASK - so_far;
}

static void take_row(void *context, const struct cfi_function *function, uintptr_t start, uintptr_t end)
{
	struct reading *r = context;
	const uint64_t rule = rule_pack(function, &work.row), bytes = end - start;

	if (RULE_KIND(rule) == RULE_GENERAL || bytes > RULE_TAG_MASK)
		return;
	if (r->n_rows > 0 && continues(&r->last, start, rule, bytes)) {
		r->last.rule += bytes << RULE_TAG_SHIFT;
	} else if (r->n_rows < r->most) {
		r->last = (struct row){ start, rule | bytes << RULE_TAG_SHIFT };
		r->n_rows++;
	} else {
		return;
	}
	if (r->rows)
		r->rows[r->n_rows - 1] = r->last;
}

/* `back`: how far before the function's entry the common one is. */
static void read_function(struct reading *r, const struct entry *entry, uintptr_t back)
{
	struct cfi_section section = { 0 };
	struct cfi_function function;
	struct entry common;

	if (back > entry->at || !find_entry(r, entry->at - back, &common))
		return;
	section.start = common.start;
	section.end = entry->end;
	if (cfi_parse(&section, entry->start, &function))
		cfi_each_row(&function, &work, take_row, r);
}

static void read_sequence(struct reading *r, uintptr_t begin)
{
	struct entry entry = { .end = begin };

	while (find_entry(r, entry.end, &entry)) {
		const uintptr_t back = load(entry.at, 4);

		if (back != 0)
			read_function(r, &entry, back);
		if (back != 0 && entry.start == begin)
			return;
	}
}

static void read_table(struct reading *r, uintptr_t begin, bool list)
{
	if (!list)
		read_sequence(r, begin);
	for (; list && can_read(r, begin, 8) && load(begin, 8) != 0; begin += 8)
		read_sequence(r, load(begin, 8));
}

/* ---- keeping it ---- */

/* Shell sort: most tables are in ascending order, and then it looks at each row a few times only. */
static void sort_rows(struct row *first, uint32_t n)
{
	for (uint32_t gap = n / 2; gap > 0; gap /= 2)
		for (uint32_t i = gap; i < n; i++) {
			const struct row row = first[i];
			uint32_t j = i;

			for (; j >= gap && first[j - gap].start > row.start; j -= gap)
				first[j] = first[j - gap];
			first[j] = row;
		}
}

static bool is_there(const struct table *table)
{
	return atomic_load_explicit(&table->life, memory_order_relaxed) & 1;
}

static struct table *find_table(const void *key)
{
	const uint32_t count = atomic_load_explicit(&table_count, memory_order_relaxed);

	for (struct table *table = tables; table < tables + count; table++)
		if (is_there(table) && table->key == key)
			return table;
	return NULL;
}

/* A table that is gone and has just the room for so many rows, or a new one. NULL: there is no room. */
static struct table *find_room(uint32_t n_rows)
{
	const uint32_t count = atomic_load_explicit(&table_count, memory_order_relaxed);
	uint32_t room = ROOM_MIN;
	struct table *table;

	while (room < n_rows)
		room *= 2;
	for (table = tables; table < tables + count; table++)
		if (!is_there(table) && table->room == room)
			return table;
	if (!rows)
		rows = os_map(ROWS_MAX * sizeof(*rows));
	if (count == TABLES_MAX || !rows || room > ROWS_MAX - rows_used)
		return NULL;
	RECORDER_ASSERT(room >= n_rows && (room & (room - 1)) == 0);
	table->rows = rows_used;
	table->room = room;
	rows_used += room;
	RECORDER_ASSERT(rows_used <= ROWS_MAX);
	return table;
}

/* Readers ignore the table until `life` is odd. */
static void fill_table(struct table *table, const void *key, bool list)
{
	struct row *const first = rows + table->rows;
	struct reading r = { .rows = first, .most = table->room };

	RECORDER_ASSERT(!is_there(table));
	read_table(&r, (uintptr_t)key, list);
	RECORDER_ASSERT(r.n_rows <= table->room);
	sort_rows(first, r.n_rows);
	table->key = key;
	table->n_rows = r.n_rows;
	table->start = UINTPTR_MAX;
	table->end = 0;
	for (uint32_t i = 0; i < r.n_rows; i++) {
		const uintptr_t end = first[i].start + (first[i].rule >> RULE_TAG_SHIFT);

		table->start = first[i].start < table->start ? first[i].start : table->start;
		table->end = end > table->end ? end : table->end;
	}
	table->serial = ++serials;
	atomic_fetch_add_explicit(&table->life, 1, memory_order_release);
	if (table == tables + atomic_load_explicit(&table_count, memory_order_relaxed))
		atomic_fetch_add_explicit(&table_count, 1, memory_order_release);
}

void frametables_add(const void *begin, bool list)
{
	struct reading r = { .most = ROWS_MAX };
	const uint64_t mask = os_lock(&lock);
	struct table *table = NULL;

	if (!find_table(begin)) {
		read_table(&r, (uintptr_t)begin, list);
		table = r.n_rows > 0 ? find_room(r.n_rows) : NULL;
	}
	if (table) {
		fill_table(table, begin, list);
		modules_code_changed();
	}
	os_unlock(&lock, mask);
}

void frametables_remove(const void *begin)
{
	const uint64_t mask = os_lock(&lock);
	struct table *table = find_table(begin);

	if (table) {
		/* Before another table is written in its place. */
		atomic_fetch_add_explicit(&table->life, 1, memory_order_acq_rel);
		modules_code_changed();
	}
	os_unlock(&lock, mask);
}

/* ---- asking ---- */

/* The rule of the last row that begins at or before the address, if it reaches that far. */
static uint64_t find_rule(const struct table *table, uintptr_t address)
{
	const struct row *first = rows + table->rows;
	uint32_t low = 0, high = table->n_rows;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (first[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - first[low - 1].start >= first[low - 1].rule >> RULE_TAG_SHIFT)
		return RULE_NONE;
	return first[low - 1].rule & RULE_BITS;
}

uint64_t frametables_rule(uintptr_t address)
{
	const uint32_t count = atomic_load_explicit(&table_count, memory_order_acquire);
	uint64_t found = RULE_NONE, latest = 0;

	for (const struct table *table = tables; table < tables + count; table++) {
		const uint32_t life = atomic_load_explicit(&table->life, memory_order_acquire);
		const uint64_t serial = table->serial;
		uint64_t rule;

		if (!(life & 1) || address < table->start || address >= table->end || serial < latest)
			continue;
		rule = find_rule(table, address);
		atomic_thread_fence(memory_order_acquire);
		if (rule == RULE_NONE || atomic_load_explicit(&table->life, memory_order_relaxed) != life)
			continue;
		found = rule;
		latest = serial;
	}
	return found;
}

void frametables_after_fork(void)
{
	atomic_store_explicit(&lock, false, memory_order_relaxed);
}
