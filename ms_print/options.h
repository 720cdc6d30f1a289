/* SPDX-License-Identifier: MIT */
/*
 * ms_print's command line. Arguments are taken from left to right; one that begins with `-` is an option,
 * wherever it stands, and the first other one names the input.
 */
#ifndef MS_PRINT_OPTIONS_H
#define MS_PRINT_OPTIONS_H

#include "graph.h"

struct options {
	const char *input;
	struct graph_size size;
	struct number threshold; /* percent, 0..100 */
};

enum options_result {
	OPTIONS_OK,
	OPTIONS_USAGE, /* --help, a wrong argument, or no input */
	OPTIONS_VERSION,
};

/* `options` is complete only with OPTIONS_OK; it points into `argv`. */
enum options_result options_parse(struct options *options, int argc, char **argv);

#endif
