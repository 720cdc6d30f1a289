/* SPDX-License-Identifier: MIT */
/*
 * Stacks as profiles show them: whole, but for what is outside of the outermost main, unless the
 * settings ask for that (--show-below-main). A stack without main is shown as it is.
 */
#ifndef ANALYZE_CALLSTACK_H
#define ANALYZE_CALLSTACK_H

#include "mstrace.h"
#include "settings.h"
#include "symbolize.h"

struct callstack {
	const struct mst_stack *stacks; /* the reader's, after the replay */
	struct symbolizer *symbolizer;
	bool below_main;
	uint32_t *frames; /* of the loaded stack, innermost first */
	uint32_t n, room;
	uint8_t *roles; /* private: by frame, whether it is main */
};

/* Never fails: without memory for `roles`, each frame is looked up again. */
void callstack_init(struct callstack *c, const struct mst_reader *reader, struct symbolizer *symbolizer,
		    const struct settings *settings);
void callstack_finish(struct callstack *c);

/* Fills frames; false: no memory. */
bool callstack_load(struct callstack *c, uint32_t stack);

#endif
