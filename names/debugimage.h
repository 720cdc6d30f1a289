/* SPDX-License-Identifier: MIT */
/*
 * The compressed DWARF of a debug file, unpacked as far as somebody looks. libdw unpacks all of a file when it is opened, which
 * takes 50 ms for libc's; the names of most replays are in its first units. The image is an ELF file
 * in memory with those sections alone that names and lines need; of .debug_info and .debug_line it holds only
 * what has been reached, and zeros behind. Sizes and offsets are a stranger's claims.
 */
#ifndef NAMES_DEBUGIMAGE_H
#define NAMES_DEBUGIMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>
#include <libelf.h>

struct debugimage;

/*
 * NULL if nothing in the file is compressed, or there is something that the image can't do: it has split units, a
 * supplementary file or relocations, is damaged or not of this machine's kind, or there is no memory.
 * libdw is to read the file then. `elf` must outlive the image.
 */
struct debugimage *debugimage_create(Elf *elf);
void debugimage_destroy(struct debugimage *image); /* NULL is allowed */

/* Belongs to the image. Is to be asked only about units that have been unpacked. */
Dwarf *debugimage_dwarf(struct debugimage *image);

/*
 * Unpacks the unit whose header is at `offset` of .debug_info. False if it is not whole, or names other units, which may
 * be anywhere. Whether a unit begins there is for libdw to say: before it is asked, all before must be unpacked.
 */
bool debugimage_reach(struct debugimage *image, uint64_t offset);

/* Unpacks the table at `offset` of .debug_line. False if there is none. */
bool debugimage_reach_lines(struct debugimage *image, uint64_t offset);

/* Unpacks all there is. False if it is damaged; libdw is to read the file then. */
bool debugimage_reach_all(struct debugimage *image);

#endif
