/* SPDX-License-Identifier: MIT */
/* The files of the name cache (namecache.h): their format, and how they are written. */
#ifndef NAMES_CACHE_FILE_H
#define NAMES_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols.h"

#define CACHE_FILE_MOST (64U << 20) /* bytes; a file that would become larger is not written */
#define CACHE_TEXT_MOST                                                                                      \
	8192U /* bytes of a name; longer ones are not kept: a file's author may want us to be slow */

#define CACHE_LINK 1u /* offset of the debug link in the texts; "": none */

enum cache_text {
	TEXT_FUNCTION,
	TEXT_DIRECTORY,
	TEXT_FILE,
	TEXT_PLAIN,
	TEXT_MASSIF,
	TEXT_MASSIF_3_27,
	TEXTS,
};

struct cache_identity {
	uint64_t device, inode, size, modified_ns, changed_ns; /* all 0: there is no file */
};

/*
 * A file: the head, entries by ascending address, lines, texts; all in this machine's byte order. The texts begin with an
 * empty one and the module's debug link.
 */
struct cache_head {
	char made_by[64];
	struct cache_identity files[2];
	uint32_t n_entries;
	uint32_t n_lines;
	uint32_t n_text; /* bytes; the first and the last one are 0, and there are two or more */
	uint32_t crc;    /* CRC-32 of what follows */
};

struct cache_entry {
	uint64_t address;
	uint32_t first;      /* of its lines, which follow those of the entry before */
	uint32_t linker;     /* the symbol, as it stands in the file: offset in the texts; 0: none */
	uint16_t n;          /* lines, at least 1 */
	uint8_t undescribed; /* 1: there was no debug information */
	uint8_t bare[MASSIF_VERSIONS]; /* each an enum namecache_bare */
	uint16_t unused;               /* 0 */
};

struct cache_line {
	uint32_t text[TEXTS]; /* offset in the texts; 0: NULL */
	int32_t line;
	uint32_t fileless; /* 1: true */
};

/* What a file is made of: chains by address. */
struct cache_addition {
	uint64_t address;
	const struct symbol_chain *chain;
	const char *linker;
	bool undescribed;
};

/* False: the chain is too long, or has too long a text, to be in a file. */
bool cache_file_takes(const struct cache_addition *addition);

/*
 * Writes additions[n], n > 0, in any order, in the place of the file at `path` in the cache's folder; `head` has no
 * numbers yet, `link` is the module's debug link or "". Processes that read meanwhile see the old file or the new one. Does nothing if the file would be too
 * large, or there is no memory.
 */
void cache_file_write(const char *folder, const char *path, const struct cache_head *head, const char *link,
		      const struct cache_addition *additions, size_t n);

#endif
