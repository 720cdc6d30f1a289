/* SPDX-License-Identifier: MIT */
#include "callstack.h"

#include <stdlib.h>

#include "array.h"

void callstack_init(struct callstack *c, const struct mst_reader *reader, struct symbolizer *symbolizer,
		    const struct settings *settings)
{
	uint32_t n, n_frames;
	mst_reader_frames(reader, &n_frames);
	*c = (struct callstack){
		.stacks = mst_reader_stacks(reader, &n),
		.symbolizer = symbolizer,
		.below_main = settings->show_below_main,
		.roles = calloc(n_frames + (size_t)1, 1),
	};
}

void callstack_finish(struct callstack *c)
{
	free(c->frames);
	free(c->roles);
}

static bool is_main(struct callstack *c, uint32_t frame)
{
	enum { NOT_ASKED, OTHER, MAIN };
	if (c->roles && c->roles[frame] != NOT_ASKED)
		return c->roles[frame] == MAIN;
	const bool found = symbolize_role(c->symbolizer, frame) == SYMBOL_MAIN;
	if (c->roles)
		c->roles[frame] = found ? MAIN : OTHER;
	return found;
}

static bool add_frame(struct callstack *c, uint32_t frame)
{
	if (!array_reserve(&c->frames, c->n, &c->room, sizeof(*c->frames)))
		return false;
	c->frames[c->n++] = frame;
	return true;
}

bool callstack_load(struct callstack *c, uint32_t stack)
{
	c->n = 0;
	for (; stack != MST_ROOT_STACK; stack = c->stacks[stack].parent) {
		if (!add_frame(c, c->stacks[stack].frame))
			return false;
	}
	for (uint32_t i = c->n; i-- > 0 && !c->below_main;) {
		if (is_main(c, c->frames[i])) {
			c->n = i + 1;
			break;
		}
	}
	return true;
}
