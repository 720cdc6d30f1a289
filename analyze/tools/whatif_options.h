/* SPDX-License-Identifier: MIT */
/* mswhatif's command line. */
#ifndef ANALYZE_WHATIF_OPTIONS_H
#define ANALYZE_WHATIF_OPTIONS_H

#include "report_options.h"

enum { WHATIF_ABREAST = 64 }; /* most players at a time */

struct whatif_command {
	struct report_command report; /* what it shares with msreport: tool, rows, units, format, output */
	const char *input;
	const char *svg;    /* file of a picture; NULL: none. That of a page is `report`'s */
	const char *export; /* file of a workload; then nothing is played */
	const char *
		*allocators; /* [n_allocators] names with commas between them; none: all that are installed */
	size_t n_allocators;
	const char **settings; /* [n_settings] */
	size_t n_settings;
	bool sweep, blame, no_blame, syscalls, end_threads;
	bool at_given;        /* else: where most of what is resident isn't live */
	struct at at;         /* `time` isn't used, but: */
	uint64_t at_ns;       /* of AT_TIME */
	double pace;          /* so many times as fast as in the recording */
	uint64_t limit;       /* bytes that a player may map; UINT64_MAX: not given */
	uint64_t abreast;     /* players at a time */
	uint64_t touched;     /* first bytes of each block that players write to */
	uint64_t patience_ns; /* a player that is in one call for so long is given up */
};

/* Its input is a struct whatif_command. */
extern const struct argp whatif_argp;

void whatif_command_init(struct whatif_command *command);
void whatif_command_finish(struct whatif_command *command);

#endif
