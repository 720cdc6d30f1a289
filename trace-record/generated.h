/* SPDX-License-Identifier: MIT */
/*
 * The frames of code that a program made itself, and what that code is called. An address can belong to one function
 * now and to another one later: then the frame stays the former's, and the address gets another frame. The names come
 * from the file that compilers write for perf, as it grows (jit_growth.h); a line counts from the look at which it is
 * there.
 */
#ifndef TRACE_RECORD_GENERATED_H
#define TRACE_RECORD_GENERATED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jit_growth.h"
#include "mst_writer.h"

/* The present frame of an address. */
struct generated_frame {
	uint64_t pc;
	uint32_t frame;
	const char *name; /* of its code; NULL: not known so far */
};

/* Zero-initialise, and set what is the owner's. */
struct generated {
	pid_t pid;                 /* the owner's: the program */
	uint64_t since;            /* the owner's: CLOCK_REALTIME in ns when it started */
	struct jit_growth *growth; /* NULL: there was no frame of such code so far */
	struct generated_frame *items;
	uint32_t n, capacity;
	uint32_t seen;      /* frames of the writer that were looked at */
	const char **names; /* by frame, of those whose address has other code now; else NULL */
	uint32_t n_names;
};

/* `growth` is the owner's to destroy, and outlives the names. */
void generated_finish(struct generated *generated);

/*
 * Call before events are taken: notes the writer's new frames of no module, and reads what the compiler wrote. True:
 * addresses have other code by now, and other frames in the writer; generated_name() knows the former ones.
 */
bool generated_look(struct generated *generated, struct mst_writer *writer);

/* The name of the code that was at a frame's address and is there no more; NULL: it is there still, or not known. */
const char *generated_name(const struct generated *generated, uint32_t frame);

/* The name of the code that was at an address at the last look; NULL: not known. */
const char *generated_last_name(const struct generated *generated, uint64_t pc);

/* The same frames in another writer; `remap` is of mst_remap_between(). The growth moves. 0 or a negative enum mst_error. */
int generated_move(struct generated *to, struct generated *from, struct mst_remap *remap);

#endif
