/* SPDX-License-Identifier: MIT */
/* What is live by the type of the objects, and what a better order of their members would save. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "figures.h"
#include "report.h"
#include "short_name.h"
#include "typed_blocks.h"

static const struct answer_column type_columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "objects", "objects", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "size", "size", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "trust", "", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "type", "type", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "container", "in", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "blocks", "", ANSWER_COUNT, ANSWER_DATA },
	{ "end_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "end_blocks", "", ANSWER_COUNT, ANSWER_DATA },
	{ "allocated_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "calls", "", ANSWER_COUNT, ANSWER_DATA },
	{ "places", "", ANSWER_COUNT, ANSWER_DATA },
	{ "evidence", "", ANSWER_TEXT, ANSWER_DATA },
	/* The site with the most bytes, as report_name_group() writes it. */
	{ "function", "", ANSWER_FUNCTION, ANSWER_DATA },
	{ "place", "most at", ANSWER_PLACE, ANSWER_SCREEN },
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },
	{ "line", "", ANSWER_COUNT, ANSWER_DATA },
	{ "module", "", ANSWER_TEXT, ANSWER_DATA },
	{ "via", "", ANSWER_TEXT, ANSWER_DATA },
	{ "id", "", ANSWER_ID, ANSWER_DATA },
};

static const struct answer_column padding_columns[] = {
	{ "saved_bytes", "saved", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "objects", "objects", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "size", "size", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "packed_size", "reordered", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "members", "", ANSWER_COUNT, ANSWER_DATA },
	{ "type", "type", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
};

static const struct answer_column unknown_columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void number_or_nothing(struct report *r, uint64_t number, bool known)
{
	if (known)
		answer_number(r->answer, number);
	else
		answer_nothing(r->answer);
}

static void write_type(struct report *r, const struct typed_row *row, uint64_t all)
{
	answer_number(r->answer, row->then_bytes);
	answer_real(r->answer, report_share(row->then_bytes, all));
	number_or_nothing(r, row->then_objects, row->counted);
	number_or_nothing(r, row->type.size, row->type.size);
	answer_text(r->answer, type_trust_names[row->type.trust]);
	answer_text(r->answer, row->type.name);
	answer_text(r->answer, row->type.container);
	answer_number(r->answer, row->then_blocks);
	answer_number(r->answer, row->end_bytes);
	answer_number(r->answer, row->end_blocks);
	answer_number(r->answer, row->bytes);
	answer_number(r->answer, row->calls);
	answer_number(r->answer, row->ways);
	answer_text(r->answer, type_evidence_names[row->type.evidence]);
	report_name_group(r, &(struct group){ .stack = row->stack }, BY_SITE);
}

static void write_types(struct report *r, const struct typed_blocks *blocks, uint64_t all)
{
	const uint64_t top = report_top(r, 15);
	answer_table(r->answer, "types", NULL, type_columns, COUNT(type_columns));
	for (uint32_t i = 0; i < blocks->n && i < top; i++)
		write_type(r, &blocks->rows[i], all);
	answer_left_out(r->answer, blocks->n > top ? blocks->n - top : 0);
}

/* ---- Padding ---- */

struct padded {
	const char *name;
	struct type_layout layout;
	uint64_t objects, saved;
};

struct paddings {
	struct padded *items;
	uint32_t n, room;
	uint32_t fixed; /* records whose members cannot be moved */
	const char *why;
	uint64_t why_bytes;
};

static void add_fixed(struct paddings *all, const struct typed_row *row, const char *why)
{
	all->fixed++;
	if (all->why && row->then_bytes <= all->why_bytes)
		return;
	all->why = why;
	all->why_bytes = row->then_bytes;
}

/* The objects of a type on their own and of those in containers are one row. False: no memory. */
static bool add_saved(struct paddings *all, const struct padded *p)
{
	for (uint32_t i = 0; i < all->n; i++) {
		struct padded *known = &all->items[i];
		if (known->name != p->name || known->layout.size != p->layout.size ||
		    known->layout.packed != p->layout.packed)
			continue;
		known->objects += p->objects;
		known->saved += p->saved;
		return true;
	}
	if (!array_reserve(&all->items, all->n, &all->room, sizeof(*all->items)))
		return false;
	all->items[all->n++] = *p;
	return true;
}

/* False: no memory. */
static bool add_padding(struct paddings *all, const struct typed_row *row)
{
	struct padded p = { .name = row->type.name, .objects = row->then_objects };
	if (!row->type.info || !row->counted || row->type.one_each ||
	    !type_info_layout(row->type.info, row->type.type, &p.layout))
		return true;
	if (p.layout.fixed)
		add_fixed(all, row, p.layout.fixed);
	p.saved = (p.layout.size - p.layout.packed) * p.objects;
	return !p.saved || p.layout.size > row->type.size || add_saved(all, &p);
}

static int compare_saved(const void *a, const void *b)
{
	const struct padded *x = a, *y = b;
	if (x->saved != y->saved)
		return x->saved > y->saved ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void note_padding(struct report *r, const struct padded *p)
{
	char name[SENTENCE_NAME_SIZE], bytes[FIGURE_SIZE];
	answer_note(r->answer, "Reorder the members of %s: %" PRIu64 " → %" PRIu64 " bytes saves %s%s.",
		    short_name_in_sentence(name, p->name), p->layout.size, p->layout.packed,
		    figure_bytes(bytes, p->saved, r->query->si),
		    r->query->at.kind == AT_PEAK ? " at the peak" : "");
}

static void write_padding(struct report *r, const struct typed_blocks *blocks)
{
	const uint64_t top = report_top(r, 5);
	struct paddings all = { 0 };
	bool fine = true;
	for (uint32_t i = 0; fine && i < blocks->n; i++)
		fine = add_padding(&all, &blocks->rows[i]);
	r->no_memory |= !fine;
	array_sort(all.items, all.n, sizeof(*all.items), compare_saved);
	answer_table(r->answer, "padding", "Padding that another order of the members saves", padding_columns,
		     COUNT(padding_columns));
	for (uint32_t i = 0; i < all.n && i < top; i++) {
		const struct padded *p = &all.items[i];
		answer_number(r->answer, p->saved);
		answer_number(r->answer, p->objects);
		answer_number(r->answer, p->layout.size);
		answer_number(r->answer, p->layout.packed);
		answer_number(r->answer, p->layout.members);
		answer_text(r->answer, p->name);
	}
	answer_left_out(r->answer, all.n > top ? all.n - top : 0);
	if (all.n) {
		note_padding(r, &all.items[0]);
		answer_note(r->answer,
			    "In C++, members are initialised in their order; sizes are those asked for, "
			    "before the allocator rounds.");
	}
	if (all.fixed)
		answer_note(r->answer,
			    "Not looked at for padding: %" PRIu32
			    " type%s whose members cannot be moved (%s).",
			    all.fixed, all.fixed == 1 ? "" : "s", all.why);
	free(all.items);
}

/* ---- What is unknown ---- */

static void write_unknown(struct report *r, const struct typed_blocks *blocks, uint64_t all)
{
	const uint64_t top = report_top(r, 5);
	struct groups groups;
	uint64_t rows = 0;
	answer_table(r->answer, "unknown", "Largest sites of unknown type", unknown_columns,
		     COUNT(unknown_columns));
	const bool fine =
		groups_collect(&groups, r->reader, r->profile, r->sites, BY_SITE, blocks->unknown_stacks) &&
		groups_sort(&groups, ORDER_THEN);
	for (uint32_t i = 0; fine && i < groups.n; i++) {
		const struct group *g = &groups.items[i];
		if (g->then_bytes == 0 || rows++ >= top)
			continue;
		answer_number(r->answer, g->then_bytes);
		answer_real(r->answer, report_share(g->then_bytes, all));
		answer_number(r->answer, g->then_blocks);
		report_name_group(r, g, BY_SITE);
	}
	answer_left_out(r->answer, rows > top ? rows - top : 0);
	groups_finish(&groups);
	r->no_memory |= !fine;
}

/* ---- The section ---- */

static bool any_container(const struct typed_blocks *blocks)
{
	for (uint32_t i = 0; i < blocks->n; i++) {
		if (blocks->rows[i].type.container)
			return true;
	}
	return false;
}

static uint64_t sampled_bytes(const struct typed_blocks *blocks)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < blocks->n; i++) {
		if (blocks->rows[i].type.trust == TRUST_SAMPLE)
			sum += blocks->rows[i].then_bytes;
	}
	return sum;
}

static void note_limits(struct report *r, const struct typed_blocks *blocks)
{
	char bytes[FIGURE_SIZE];
	const uint64_t sampled = sampled_bytes(blocks);
	if (sampled)
		answer_note(r->answer,
			    "%s are slabs of objects of many types. Each counts for the type that begins it, "
			    "so many slabs estimate a type, and a few do not.",
			    figure_bytes(bytes, sampled, r->query->si));
	if (any_container(blocks))
		answer_note(r->answer, "What a container has room for counts, used or not: its size is not "
				       "recorded.");
	if (blocks->n_told < blocks->n_ways)
		answer_note(r->answer,
			    "Types are told of the %" PRIu32 " largest of %" PRIu32 " places that allocate.",
			    blocks->n_told, blocks->n_ways);
	if (blocks->limited)
		answer_note(r->answer, "A module has so much debug information that not all was looked at.");
	if (blocks->n == 0)
		answer_note(r->answer,
			    "Types come from debug information (cc -g), template arguments and sources; "
			    "of these sites there is none.");
}

static void write_section(struct report *r)
{
	const struct report_totals totals = report_totals(r, r->profile);
	struct typed_blocks blocks;
	answer_section(r->answer, "types", "Types");
	if (typed_blocks_collect(&blocks, r->reader, r->profile, r->sites, r->symbolizer)) {
		const uint64_t sampled = sampled_bytes(&blocks);
		const uint64_t known = totals.then_bytes - blocks.unknown.then_bytes - sampled;
		answer_fact(r->answer, "bytes", "live", ANSWER_BYTES, totals.then_bytes);
		answer_fact(r->answer, "known_bytes", "of known type", ANSWER_BYTES, known);
		if (sampled)
			answer_fact(r->answer, "sampled_bytes", "in slabs", ANSWER_BYTES, sampled);
		answer_fact(r->answer, "time_ns", "at", ANSWER_NS, profile_point_ns(r->profile));
		write_types(r, &blocks, totals.then_bytes);
		write_padding(r, &blocks);
		write_unknown(r, &blocks, totals.then_bytes);
		note_limits(r, &blocks);
	} else {
		r->no_memory = true;
	}
	typed_blocks_finish(&blocks);
}

const struct report_section section_types = {
	.name = "types",
	.help = "what is live by type, and the padding that it need not have",
	.write = write_section,
};
