/* SPDX-License-Identifier: MIT */
#include "cache_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <zlib.h>

#include "cache_folder.h"
#include "file.h"
#include "namecache.h"
#include "radix_sort.h"
#include "string_set.h"

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* Bytes of all texts of an entry, and one; 0: one of them is too long. */
static size_t texts_size(const struct cache_addition *addition)
{
	const struct symbol_chain *chain = addition->chain;
	size_t size = 1 + text_size(addition->linker);

	if (size > CACHE_TEXT_MOST + 2)
		return 0;
	for (uint32_t i = 0; i < chain->n; i++) {
		const struct symbol_line *line = &chain->lines[i];
		const size_t sizes[] = { text_size(line->function), text_size(line->directory),
					 text_size(line->file),     text_size(line->plain),
					 text_size(line->massif),   text_size(line->massif_3_27) };

		for (size_t k = 0; k < TEXTS; k++) {
			if (sizes[k] > CACHE_TEXT_MOST + 1)
				return 0;
			size += sizes[k];
		}
	}
	return size;
}

bool cache_file_takes(const struct cache_addition *addition)
{
	return addition->chain->n <= UINT16_MAX && texts_size(addition) != 0;
}

/* A file in the making. Each array has room for all that it can get. */
struct draft {
	struct cache_head head;
	struct cache_entry *entries;
	struct cache_line *lines;
	char *text;
	struct string_set *known; /* all texts */
	uint32_t *places;         /* offset in `text` by number in `known` */
	uint32_t n_known;
	bool starved;
};

static uint32_t draft_text(struct draft *draft, const char *text)
{
	const size_t size = text_size(text);
	const size_t number = text ? string_set_number(draft->known, text, size - 1) : 0;

	if (number == 0) {
		draft->starved |= text != NULL;
		return 0;
	}
	if (number > draft->n_known) {
		assert(number == draft->n_known + 1u);
		draft->n_known++;
		draft->places[number] = draft->head.n_text;
		memcpy(draft->text + draft->head.n_text, text, size);
		draft->head.n_text += (uint32_t)size;
	}
	return draft->places[number];
}

static void draft_chain(struct draft *draft, const struct cache_addition *addition)
{
	const struct symbol_chain *chain = addition->chain;
	struct cache_entry *entry = &draft->entries[draft->head.n_entries++];

	*entry = (struct cache_entry){
		.address = addition->address,
		.first = draft->head.n_lines,
		.linker = draft_text(draft, addition->linker),
		.n = (uint16_t)chain->n,
		.undescribed = addition->undescribed,
	};
	for (size_t i = 0; i < MASSIF_VERSIONS; i++)
		entry->bare[i] = !chain->bare[i]        ? NAMECACHE_NO_BARE
				 : chain->bare[i]->file ? NAMECACHE_BARE_LINE
							: NAMECACHE_BARE_NAME;
	for (uint32_t i = 0; i < chain->n; i++) {
		const struct symbol_line *line = &chain->lines[i];

		draft->lines[draft->head.n_lines++] = (struct cache_line){
			.text[TEXT_FUNCTION] = draft_text(draft, line->function),
			.text[TEXT_DIRECTORY] = draft_text(draft, line->directory),
			.text[TEXT_FILE] = draft_text(draft, line->file),
			.text[TEXT_PLAIN] = draft_text(draft, line->plain),
			.text[TEXT_MASSIF] = draft_text(draft, line->massif),
			.text[TEXT_MASSIF_3_27] = draft_text(draft, line->massif_3_27),
			.line = line->line,
			.fileless = line->fileless,
		};
	}
}

/* Makes room for all additions. False: they are too many, or there is no memory. */
static bool draft_create(struct draft *draft, const struct cache_head *head, const char *link,
			 const struct cache_addition *additions, size_t n)
{
	size_t lines = 0, text = 1 + text_size(link);

	for (size_t i = 0; i < n && text <= CACHE_FILE_MOST; i++) {
		lines += additions[i].chain->n;
		text += texts_size(&additions[i]);
	}
	*draft = (struct draft){ .head = *head };
	if (text > CACHE_FILE_MOST || lines > CACHE_FILE_MOST / sizeof(*draft->lines) ||
	    n > CACHE_FILE_MOST / sizeof(*draft->entries))
		return false;
	draft->entries = calloc(n, sizeof(*draft->entries));
	draft->lines = calloc(lines, sizeof(*draft->lines));
	draft->text = calloc(text, 1);
	draft->places = calloc(TEXTS * lines + n + 2, sizeof(*draft->places));
	draft->known = string_set_create();
	draft->head.n_text = 1;
	return draft->entries && draft->lines && draft->text && draft->places && draft->known &&
	       draft_text(draft, link);
}

static void draft_finish(struct draft *draft)
{
	free(draft->entries);
	free(draft->lines);
	free(draft->text);
	free(draft->places);
	string_set_destroy(draft->known);
}

/* Adds all in the order of addresses. False: no memory. */
static bool draft_fill(struct draft *draft, const struct cache_addition *additions, size_t n)
{
	struct radix_item *items = calloc(n, sizeof(*items));
	bool fine = items;

	for (uint32_t i = 0; i < n && fine; i++)
		items[i] = (struct radix_item){ additions[i].address, i };
	fine = fine && radix_sort(items, n);
	for (size_t i = 0; i < n && fine; i++)
		draft_chain(draft, &additions[items[i].number]);
	free(items);
	return fine && !draft->starved;
}

/* False: a file may not be so large; to write it would end the process by a signal (setrlimit(2)). */
static bool draft_may_be_written(const struct draft *draft)
{
	struct rlimit most;
	const size_t size = sizeof(draft->head) + draft->head.n_entries * sizeof(*draft->entries) +
			    draft->head.n_lines * sizeof(*draft->lines) + draft->head.n_text;

	return getrlimit(RLIMIT_FSIZE, &most) == 0 && size <= most.rlim_cur;
}

/* For file_replace(). */
static bool draft_write(void *context, int fd)
{
	struct draft *draft = context;
	const size_t entries = draft->head.n_entries * sizeof(*draft->entries);
	const size_t lines = draft->head.n_lines * sizeof(*draft->lines);
	uLong crc = crc32_z(0, (const uint8_t *)draft->entries, entries);

	crc = crc32_z(crc, (const uint8_t *)draft->lines, lines);
	crc = crc32_z(crc, (const uint8_t *)draft->text, draft->head.n_text);
	draft->head.crc = (uint32_t)crc;
	return file_write(fd, (const uint8_t *)&draft->head, sizeof(draft->head)) &&
	       file_write(fd, (const uint8_t *)draft->entries, entries) &&
	       file_write(fd, (const uint8_t *)draft->lines, lines) &&
	       file_write(fd, (const uint8_t *)draft->text, draft->head.n_text);
}

void cache_file_write(const char *folder, const char *path, const struct cache_head *head, const char *link,
		      const struct cache_addition *additions, size_t n)
{
	struct draft draft;

	assert(n > 0);
	if (draft_create(&draft, head, link, additions, n) && draft_fill(&draft, additions, n) &&
	    draft_may_be_written(&draft)) {
		cache_folder_prepare(folder);
		file_replace(path, draft_write, &draft);
	}
	draft_finish(&draft);
}
