/* SPDX-License-Identifier: MIT */
/*
 * The compressed DWARF of a debug file, unpacked as far as lookups need it. libdw unpacks all of a file when it is
 * opened, which takes 30 ms for libc's; most replays need only its first units. The image is an ELF file in memory
 * with only those sections that names and lines need; behind what has been reached, .debug_info and .debug_line hold
 * zeros. Sizes and offsets are an untrusted file's claims.
 */
#ifndef NAMES_DEBUGIMAGE_H
#define NAMES_DEBUGIMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>
#include <libelf.h>

struct debugimage;

/*
 * NULL, libdw must read the file: nothing in it is compressed; or the image cannot serve it, because it has split
 * units, a supplementary file or relocations, is damaged or of another class or byte order; or there is no memory.
 * `elf` must outlive the image.
 */
struct debugimage *debugimage_create(Elf *elf);
void debugimage_destroy(struct debugimage *image); /* NULL is allowed */

/* The image's. Only units that have been unpacked may be read. */
Dwarf *debugimage_dwarf(struct debugimage *image);

/*
 * Unpacks the unit whose header is at `offset` of .debug_info, and what libdw reads on the way to it. False: the unit
 * is not whole, or may name other units, which may be anywhere.
 */
bool debugimage_reach(struct debugimage *image, uint64_t offset);

/* Unpacks the table at `offset` of .debug_line. False: there is none. */
bool debugimage_reach_lines(struct debugimage *image, uint64_t offset);

/* Unpacks everything. False: it is damaged; libdw must read the file. */
bool debugimage_reach_all(struct debugimage *image);

#endif
