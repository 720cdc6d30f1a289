/* SPDX-License-Identifier: MIT */
#include "jit_growth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "jit.h"
#include "ranges.h"
#include "string_set.h"

#define READ_MOST ((uint64_t)256 << 20) /* bytes of a map */
#define LINE_MOST 65536u
#define RECENT_MOST 4096u /* lines that are searched one by one, at least */

struct code {
	uint64_t start, end;
	const char *name;
};

struct jit_growth {
	pid_t pid;
	uint64_t since;
	int fd; /* -1: not open */
	uint64_t offset, all;
	char *text; /* [LINE_MOST], the beginning of a line whose rest isn't written yet */
	size_t n_text;
	struct string_set *names;
	struct code *codes; /* in the order of lines */
	uint32_t n, capacity;
	uint32_t news;        /* the last look's first one */
	struct ranges sorted; /* the first ones; value: index in `codes` */
	uint32_t n_sorted;
};

struct jit_growth *jit_growth_create(pid_t pid, uint64_t since)
{
	struct jit_growth *growth = calloc(1, sizeof(*growth));

	if (!growth)
		return NULL;
	*growth = (struct jit_growth){ .pid = pid, .since = since, .fd = -1 };
	growth->text = malloc(LINE_MOST);
	growth->names = string_set_create();
	if (growth->text && growth->names)
		return growth;
	jit_growth_destroy(growth);
	return NULL;
}

void jit_growth_destroy(struct jit_growth *growth)
{
	if (!growth)
		return;
	if (growth->fd >= 0)
		close(growth->fd);
	ranges_finish(&growth->sorted);
	string_set_destroy(growth->names);
	free(growth->codes);
	free(growth->text);
	free(growth);
}

/* Sorts all codes, when so many are new that each search for one would take long. */
static void sort_codes(struct jit_growth *growth)
{
	const uint32_t recent = growth->n - growth->n_sorted;
	struct ranges sorted = { 0 };
	bool fine = true;

	if (recent < RECENT_MOST || recent < growth->n / 4)
		return;
	for (uint32_t i = 0; i < growth->n && fine; i++)
		fine = ranges_add(&sorted, growth->codes[i].start, growth->codes[i].end, i);
	if (!fine || !ranges_seal(&sorted)) {
		ranges_finish(&sorted);
		return;
	}
	ranges_finish(&growth->sorted);
	growth->sorted = sorted;
	growth->n_sorted = growth->n;
}

/* Without memory the line is left out. */
static void take_line(struct jit_growth *growth, char *line)
{
	struct jit_line parsed;
	struct code code;

	if (!jit_line_parse(line, &parsed) ||
	    !array_reserve(&growth->codes, growth->n, &growth->capacity, sizeof(*growth->codes)))
		return;
	code = (struct code){ parsed.start, parsed.start + parsed.size,
			      string_set_add(growth->names, parsed.name, strlen(parsed.name)) };
	if (code.name && code.end > code.start)
		growth->codes[growth->n++] = code;
}

/* Takes the whole lines of the text, and keeps the rest. */
static void take_lines(struct jit_growth *growth)
{
	char *line = growth->text, *end;
	char *const last = growth->text + growth->n_text;

	while ((end = memchr(line, '\n', (size_t)(last - line)))) {
		*end = 0;
		take_line(growth, line);
		line = end + 1;
	}
	growth->n_text = (size_t)(last - line);
	memmove(growth->text, line, growth->n_text);
	if (growth->n_text == LINE_MOST)
		growth->n_text = 0;
}

/* False: all there is has been read. */
static bool read_more(struct jit_growth *growth)
{
	const ssize_t n = pread(growth->fd, growth->text + growth->n_text, LINE_MOST - growth->n_text,
				(off_t)growth->offset);

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	growth->offset += (uint64_t)n;
	growth->all += (uint64_t)n;
	growth->n_text += (size_t)n;
	take_lines(growth);
	return growth->all < READ_MOST;
}

bool jit_growth_look(struct jit_growth *growth)
{
	struct stat st;

	growth->news = growth->n;
	if (growth->fd < 0)
		growth->fd = jit_map_open(growth->pid, growth->since);
	if (growth->fd < 0 || growth->all >= READ_MOST || fstat(growth->fd, &st) != 0)
		return false;
	/* Some programs write the whole file anew. */
	if ((uint64_t)st.st_size < growth->offset)
		growth->offset = growth->n_text = 0;
	if ((uint64_t)st.st_size == growth->offset)
		return false;
	while (read_more(growth))
		;
	sort_codes(growth);
	return growth->n > growth->news;
}

/* The last code at an address, not before number `first`. */
static const char *find_from(const struct jit_growth *growth, uint64_t address, uint32_t first)
{
	const uint32_t one_by_one = first > growth->n_sorted ? first : growth->n_sorted;
	uint32_t found;

	for (uint32_t i = growth->n; i-- > one_by_one;) {
		if (address >= growth->codes[i].start && address < growth->codes[i].end)
			return growth->codes[i].name;
	}
	found = first < growth->n_sorted ? ranges_find(&growth->sorted, address) : RANGES_NONE;
	return found == RANGES_NONE || found < first ? NULL : growth->codes[found].name;
}

const char *jit_growth_find(const struct jit_growth *growth, uint64_t address)
{
	return find_from(growth, address, 0);
}

const char *jit_growth_news(const struct jit_growth *growth, uint64_t address)
{
	return find_from(growth, address, growth->news);
}
