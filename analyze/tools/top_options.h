/* SPDX-License-Identifier: MIT */
/* mstop's command line. */
#ifndef ANALYZE_TOP_OPTIONS_H
#define ANALYZE_TOP_OPTIONS_H

#include "tool.h"
#include "top_view.h"

struct top_command {
	struct tool tool;
	const char *input; /* a process id or a trace; NULL: the recording that runs */
	uint64_t delay_ms, window_ns;
	bool once, json, threads;
	uint64_t top; /* rows of what is printed */
	enum top_order order;
};

void top_command_init(struct top_command *command);

/* Its input is a struct top_command whose tool has been initialised. */
extern const struct argp top_argp;

#endif
