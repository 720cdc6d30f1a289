/* SPDX-License-Identifier: MIT */
/* Which part of a sample the screen shows, and what keys do to it. Knows no terminal. */
#ifndef ANALYZE_TOP_VIEW_H
#define ANALYZE_TOP_VIEW_H

#include "top_sample.h"

enum top_page { TOP_SITES, TOP_THREADS, TOP_STACK, TOP_HELP };

/* Characters are themselves. */
enum top_key {
	TOP_KEY_UP = 0x200000,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER = '\n',
	TOP_KEY_ESCAPE = 27,
};

enum top_action {
	TOP_NOTHING,
	TOP_DRAW,    /* the view has changed */
	TOP_REFRESH, /* a new sample is wanted */
	TOP_REPORT,  /* a report is wanted */
	TOP_QUIT,
};

enum { TOP_STACKS = 50 };

/* Zero-initialised: the sites by live bytes. */
struct top_view {
	enum top_page page, behind; /* behind: to which Escape goes back */
	enum top_order order;
	bool paused;
	bool moved;         /* the selection follows its row, not its place */
	uint32_t selected;  /* row */
	uint32_t first;     /* row at the top of the screen */
	uint32_t call, tid; /* of the selected row */
	/* Of TOP_STACK: the stacks of the selected site, those with the most live bytes. */
	struct top_stack stacks[TOP_STACKS];
	uint32_t n_stacks, all_stacks;
	uint32_t stack;       /* which of them */
	uint32_t first_frame; /* at the top of the screen */
};

/* `rows`: how many of the table, or lines of a stack, the screen shows. */
enum top_action top_view_key(struct top_view *view, const struct top_sample *sample, int key, unsigned rows);

/* After a new sample or another order: finds the selected row again. */
void top_view_settle(struct top_view *view, const struct top_sample *sample, unsigned rows);

/* The order with that name. False: there is none. */
bool top_order_parse(const char *word, enum top_order *order);

#endif
