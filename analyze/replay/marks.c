/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

enum { LISTED = 20 }; /* names in a message */

enum mark_role mark_role(const struct mst_mark *mark)
{
	if (mark->thread == MST_NONE)
		return MARK_POINT;
	if (strncmp(mark->name, MST_SPAN_BEGIN, strlen(MST_SPAN_BEGIN)) == 0)
		return MARK_SPAN_BEGIN;
	return strcmp(mark->name, MST_SPAN_END) == 0 ? MARK_SPAN_END : MARK_POINT;
}

const char *mark_span_name(const struct mst_mark *mark)
{
	return mark->name + strlen(MST_SPAN_BEGIN);
}

/* A name that is looked for; with "#N" behind it the Nth mark of the shorter name will do. */
struct wanted {
	const char *name;
	size_t base;      /* its length without "#N"; 0: there is no such end */
	uint64_t ordinal; /* N */
};

static struct wanted parse(const char *name)
{
	struct wanted wanted = { .name = name };
	const char *hash = strrchr(name, '#');
	const size_t digits = hash ? strspn(hash + 1, "0123456789") : 0;
	if (digits && digits < 10 && hash[1 + digits] == '\0') {
		wanted.base = (size_t)(hash - name);
		wanted.ordinal = strtoull(hash + 1, NULL, 10);
	}
	return wanted;
}

/* Whether a mark is called as the first `n` bytes of a text, as it is or as it is printed. */
static bool is_called(const struct mst_mark *mark, const char *text, size_t n)
{
	const size_t length = strlen(mark->name);
	if (length == n && memcmp(mark->name, text, n) == 0)
		return true;
	if (printable_run(mark->name, length) == length)
		return false;
	char *shown = printable_copy(mark->name, length);
	const bool same = shown && strlen(shown) == n && memcmp(shown, text, n) == 0;
	free(shown);
	return same;
}

uint32_t marks_ordinal(const struct mst_mark *marks, uint32_t i)
{
	uint32_t n = 1;
	for (uint32_t k = 0; k < i; k++)
		n += strcmp(marks[k].name, marks[i].name) == 0;
	return n;
}

/* ---- The search ---- */

struct search {
	struct mst_reader *reader;
	struct wanted wanted;
	uint32_t seen;         /* marks that were compared */
	uint64_t same;         /* marks of the shorter name so far */
	uint32_t exact, other; /* marks that will do, MST_NONE: none yet; the first is the better one */
};

static void compare(struct search *s)
{
	uint32_t n;
	const struct mst_mark *marks = mst_reader_marks(s->reader, &n);
	for (; s->seen < n && s->exact == MST_NONE; s->seen++) {
		const struct mst_mark *mark = &marks[s->seen];
		if (is_called(mark, s->wanted.name, strlen(s->wanted.name)))
			s->exact = s->seen;
		else if (s->wanted.ordinal && is_called(mark, s->wanted.name, s->wanted.base) &&
			 ++s->same == s->wanted.ordinal)
			s->other = s->seen;
	}
}

/* Blocks allocated by the chunk's records before the number `record`. */
static uint64_t count_allocs(const struct mst_chunk *chunk, uint64_t record)
{
	uint64_t n = 0;
	if (!chunk->records)
		return 0;
	for (uint32_t i = 0; i < chunk->n_records && chunk->first_record + i < record; i++)
		n += chunk->tokens[chunk->records[i]].role == MST_ALLOC;
	return n;
}

static uint64_t all_allocs(const struct mst_chunk *chunk)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		n += chunk->tokens[i].role == MST_ALLOC ? chunk->tokens[i].count : 0;
	return n;
}

/* A mark that lies before the end of the present chunk, or behind all chunks. */
struct candidate {
	uint32_t mark; /* MST_NONE: none yet */
	bool placed;
	uint64_t allocs;
	uint64_t time; /* of the last call before it */
};

/* The time of the last record before the number `record`, which is in the chunk. */
static uint64_t time_before(const struct mst_chunk *chunk, uint64_t record)
{
	uint64_t time = chunk->first_time;
	for (uint32_t i = 0; i < chunk->n_stamps && chunk->first_record + chunk->stamps[i].record < record;
	     i++)
		time = chunk->stamps[i].time;
	return time;
}

/* Places a mark if it lies in the chunk, which is decoded for that alone. `before`: the last time before the chunk. */
static void place(struct search *s, struct candidate *c, uint32_t mark, const struct mst_chunk *chunk,
		  uint64_t before)
{
	uint32_t n;
	const struct mst_mark *marks = mst_reader_marks(s->reader, &n);
	c->mark = mark;
	if (mark == MST_NONE || c->placed || marks[mark].record >= chunk->first_record + chunk->n_records)
		return;
	const bool inside = marks[mark].record > chunk->first_record;
	c->placed = !inside || chunk->records || mst_reader_decode(s->reader) >= 0;
	c->allocs = chunk->first_alloc + (inside ? count_allocs(chunk, marks[mark].record) : 0);
	c->time = inside ? time_before(chunk, marks[mark].record) : before;
}

/* Returns the candidate that will do, or MST_NONE. */
static struct candidate search(struct search *s)
{
	struct candidate exact = { .mark = MST_NONE }, other = exact;
	const struct mst_chunk *chunk;
	uint64_t allocs = 0, last = 0;
	mst_reader_want(s->reader, MST_TIMES);
	while (!exact.placed && mst_reader_peek(s->reader, &chunk) > 0) {
		allocs = chunk->first_alloc + all_allocs(chunk);
		compare(s);
		place(s, &exact, s->exact, chunk, last);
		place(s, &other, s->other, chunk, last);
		last = chunk->last_time;
	}
	compare(s);
	if (!exact.placed)
		exact = (struct candidate){ .mark = s->exact, .allocs = allocs, .time = last };
	if (!other.placed)
		other = (struct candidate){ .mark = s->other, .allocs = allocs, .time = last };
	return exact.mark != MST_NONE ? exact : other;
}

/* ---- The names there are ---- */

/* Whether a mark of the same name comes before. */
static bool is_repeated(const struct mst_mark *marks, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++) {
		if (strcmp(marks[k].name, marks[i].name) == 0)
			return true;
	}
	return false;
}

static uint64_t count_of(const struct mst_mark *marks, uint32_t n, uint32_t i)
{
	uint64_t count = 0;
	for (uint32_t k = i; k < n; k++)
		count += strcmp(marks[k].name, marks[i].name) == 0;
	return count;
}

/* "ready, serve (2 times)". NULL: no memory. */
static char *list(const struct mst_reader *reader)
{
	uint32_t n, listed = 0;
	const struct mst_mark *marks = mst_reader_marks(reader, &n);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	for (uint32_t i = 0; out && i < n && listed <= LISTED; i++) {
		if (is_repeated(marks, i))
			continue;
		const uint64_t times = count_of(marks, n, i);
		char *name = printable_copy(marks[i].name, strlen(marks[i].name));
		if (listed++ == LISTED)
			fputs(" ...", out);
		else
			fprintf(out, "%s%s", listed > 1 ? ", " : "", name && *name ? name : "''");
		if (times > 1 && listed <= LISTED)
			fprintf(out, " (%" PRIu64 " times)", times);
		free(name);
	}
	if (out && fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

enum marks_result marks_find(struct mst_reader *reader, const char *name, struct mark_place *found,
			     char **known)
{
	struct search s = { .reader = reader, .wanted = parse(name), .exact = MST_NONE, .other = MST_NONE };
	const struct candidate c = search(&s);
	uint32_t n;
	const struct mst_mark *marks = mst_reader_marks(reader, &n);
	*known = NULL;
	if (c.mark == MST_NONE) {
		*known = list(reader);
		return *known ? MARKS_NOT_FOUND : MARKS_NO_MEMORY;
	}
	/* A mark is never before the call before it, whatever a trace says. */
	const uint64_t time = marks[c.mark].time > c.time ? marks[c.mark].time : c.time;
	*found = (struct mark_place){
		.record = marks[c.mark].record,
		.allocs = c.allocs,
		.time_ns = time << mst_reader_time_shift(reader),
	};
	return MARKS_FOUND;
}
