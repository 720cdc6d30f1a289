/* SPDX-License-Identifier: MIT */
/*
 * Scripts of heap operations, run on some heap; prints the usable size of each result. A program is
 * usable_script.c, which has main, and a heap. The program itself never allocates, so that only the
 * script changes the heap.
 *
 *   program SCRIPT...
 *
 * Each script begins with an empty heap and is a text of lines, i being one of SLOTS blocks:
 *
 *   m i n      malloc(n)              c i n    calloc(1, n)
 *   a i e n    memalign(e, n)         r i n    realloc of block i
 *   f i        free                   p i      the address of block i
 *
 * The first line may be "b n": a model's heap begins at the address n.
 *
 * Output: a line `= SCRIPT`, then for each operation but f the usable size, or `-` if it failed.
 */
#ifndef ORACLE_USABLE_SCRIPT_H
#define ORACLE_USABLE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOTS = 65536 };

/* Called once in each script's process; `first` is where a model begins, or 0. False when out of memory. */
bool heap_begin(uint64_t first);

/* `size` bytes into an empty slot. False when it fails. */
bool heap_alloc(unsigned slot, uint64_t size, uint64_t align, bool zeroed, uint64_t *usable);
bool heap_resize(unsigned slot, uint64_t size, uint64_t *usable); /* which may be empty; size > 0 */
uint64_t heap_address(unsigned slot);
void heap_free(unsigned slot); /* which may be empty */

#endif
