/* SPDX-License-Identifier: MIT */
/* Traces made unit by unit, so that each can be spoilt before or after its checksum. Failures end the test. */
#ifndef TESTS_CRAFT_H
#define TESTS_CRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "mstrace.h"

#define CRAFT_MAX_PARTS 10
#define CRAFT_MAX_COLUMNS 9

/* A unit before it is encoded, and changes to make afterwards. */
struct part {
	uint8_t type, flags;
	struct bytes fields;
	struct bytes columns[CRAFT_MAX_COLUMNS];
	uint8_t ids[CRAFT_MAX_COLUMNS];
	size_t n_columns;
	bool patch; /* set a byte or a word of the header, then its checksum anew */
	bool patch_word;
	size_t patch_at; /* from the tag on */
	uint32_t patch_value;
	struct bytes tail; /* bytes after the unit */
};

struct craft {
	struct part parts[CRAFT_MAX_PARTS];
	size_t n;
};

/* Places in craft.parts of the sound trace. */
enum {
	CRAFT_FILE,
	CRAFT_THREADS,
	CRAFT_MODULES,
	CRAFT_STACKS,
	CRAFT_KINDS,
	CRAFT_EVENTS,
	CRAFT_MORE,
	CRAFT_END,
};

/* Replace the bytes by the given bytes, or words of 32 bits. */
void craft_set(struct bytes *bytes, const void *data, size_t n);
void craft_words(struct bytes *bytes, const uint32_t *words, size_t n);

#define SET(bytes, ...)                                                                                      \
	craft_set(&(bytes), (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define WORDS(bytes, ...)                                                                                    \
	craft_words(&(bytes), (const uint32_t[]){ __VA_ARGS__ },                                             \
		    sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

/* Sets a word of 32 bits. */
void craft_poke(struct bytes *bytes, size_t at, uint32_t value);

#define COLUMN(c, part, i) ((c)->parts[CRAFT_##part].columns[i])
#define FIELDS(c, part) ((c)->parts[CRAFT_##part].fields)

/* A sound trace: two threads, a module, two frames, two stacks, two kinds, two chunks of six records. */
void craft_begin(struct craft *c);
void craft_finish(struct craft *c);
/* The file; the caller frees it. */
struct bytes craft_encode(const struct craft *c);

/* Set a byte or a word of unit i's header after it is encoded. */
void craft_patch_byte(struct craft *c, size_t i, size_t at, uint8_t value);
void craft_patch_word(struct craft *c, size_t i, size_t at, uint32_t value);

/* The offset in the header of column i's entry. */
size_t craft_row(const struct craft *c, size_t part, size_t i);

/* How to spoil a sound trace, and the reader's expected answer. */
struct crafted {
	const char *name;
	void (*spoil)(struct craft *craft);
	int status;
	const char *problem; /* a part of it; NULL when the reader could not even be made */
	uint32_t events;     /* events delivered nevertheless */
};

#define OK 0
#define BAD MST_ERR_DAMAGED
#define CUT MST_ERR_TRUNCATED
#define VERSION MST_ERR_VERSION

/* Runs a test for each; returns main()'s status. */
int craft_run(const char *name, const struct crafted *crafted, size_t n);

#endif
