/* SPDX-License-Identifier: MIT */
/* A pager for long text on a terminal: $MSREPORT_PAGER, else $PAGER, else less; "cat" or an empty text is none. */
#ifndef ANALYZE_PAGER_H
#define ANALYZE_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
	pid_t pid; /* 0: none */
};

/* Starts the pager if standard output is a terminal, and makes it standard output. Without one nothing changes. */
void pager_begin(struct pager *pager);

/* Waits until the reader has seen enough. */
void pager_end(struct pager *pager);

#endif
