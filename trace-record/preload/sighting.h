/* SPDX-License-Identifier: MIT */
/*
 * An object of this process as the loader describes it now, and what its mapped headers and notes say. Keeps nothing; any
 * thread may ask at any time. Headers may be damaged or unmapped meanwhile: each is probed before it is read.
 */
#ifndef PRELOAD_SIGHTING_H
#define PRELOAD_SIGHTING_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi.h"
#include "module_table.h"
#include "modules.h"

/* An object as the loader describes it; 0 or NULL: not known. */
struct sighting {
	uintptr_t start, end, bias; /* before sighting_complete(), [start, end) may be one segment */
	const void *identity;       /* link map, or the program headers' address */
	const struct link_map *map; /* NULL when found by libc_each_object() */
	const char *name;
	uint64_t name_hash; /* 0: the name has not been read */
	const ElfW(Phdr) * headers;
	unsigned header_count;
	uintptr_t frames;
	uint32_t order; /* used when map is NULL */
};

/* How objects are found: by _dl_find_object(), or (NULL) by libc_each_object(). */
void sighting_init(modules_find_function *find);

/* The object around `pc`. False: there is none. Without _dl_find_object() the sighting is complete. */
bool sighting_find(uintptr_t pc, struct sighting *seen);

/* Widens [start, end) to all segments: for objects with gaps between segments the loader gives a single one. */
void sighting_complete(struct sighting *seen);

/* Of a name; never 0. */
uint64_t sighting_hash(const char *name);

/* The call frame information, with the readable bytes around it: its segments, or the object if these are not known. */
struct cfi_section sighting_frames(const struct sighting *seen);

/* Copies the GNU build id, if the object has one. */
void sighting_read_build_id(const struct sighting *seen, struct module *module);

enum module_role sighting_role(const struct sighting *seen);

#endif
