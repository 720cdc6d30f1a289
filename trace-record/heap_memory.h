/* SPDX-License-Identifier: MIT */
/*
 * Parts of another process's memory: copied at one time, or read as the process runs on, a window at a time. The second way
 * has no size that is too large, but what it gives is of several times.
 */
#ifndef TRACE_RECORD_HEAP_MEMORY_H
#define TRACE_RECORD_HEAP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target.h"

struct memory_part {
	uint64_t start, end;
	const uint8_t *bytes; /* in the buffer */
};

/* Zero-initialise, and set the target. */
struct heap_memory {
	struct target *target; /* NULL: there are only parts */
	uint8_t *buffer;       /* for copies */
	size_t buffer_bytes;
	struct memory_part *parts; /* ascending; none: the process is read as it runs */
	uint32_t n_parts, room;
	uint8_t *window; /* what is at [window_start, window_end) */
	uint64_t window_start, window_end;
	uint64_t window_bytes; /* that are read at a time: more and more, as long as the walk goes well */
	uint64_t until_ns;     /* CLOCK_MONOTONIC: the process is read no longer; 0: no limit */
	bool late;             /* that was reached */
	bool live;             /* heap_memory_walk() reads the process, whatever parts there are */
};

void heap_memory_finish(struct heap_memory *memory);

/* Makes room for a copy, whose pages are there already. */
bool heap_memory_reserve(struct heap_memory *memory, size_t bytes);

/* Adds a part to those that heap_memory_copy() copies, behind the others. False: no memory, or it is not behind them. */
bool heap_memory_add(struct heap_memory *memory, uint64_t start, uint64_t end);

/* How much the parts are. */
uint64_t heap_memory_bytes(const struct heap_memory *memory);

/* Copies all parts, for which there must be room. False: not all of that is there; then there are no parts. */
bool heap_memory_copy(struct heap_memory *memory);

void heap_memory_forget_parts(struct heap_memory *memory);

/* What is at an address; for a walk through ascending ones. False: it is not there. */
bool heap_memory_walk(struct heap_memory *memory, uint64_t address, void *to, size_t bytes);

/* The same for addresses in no order. */
bool heap_memory_read(struct heap_memory *memory, uint64_t address, void *to, size_t bytes);

/* What heap_memory_walk() has read of the process is out of date. */
void heap_memory_renew(struct heap_memory *memory);

/*
 * Words at addresses in no order, at most HEAP_MEMORY_WORDS; those in no part are as they are by now. Returns how many there
 * are, up to the first that is not there.
 */
#define HEAP_MEMORY_WORDS 512u
uint32_t heap_memory_read_words(struct heap_memory *memory, const uint64_t *addresses, uint64_t *words,
				uint32_t n);

/* CLOCK_MONOTONIC in ns. */
uint64_t heap_memory_now(void);

#endif
