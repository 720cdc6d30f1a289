/* SPDX-License-Identifier: MIT */
/*
 * --pages: the calls by which the kernel maps and unmaps pages, whoever makes them: what was mapped when
 * recording began, and from then on each call at one of the places in sites.h.
 */
#ifndef PRELOAD_PAGES_H
#define PRELOAD_PAGES_H

/* At the first event of a process that wasn't forked; the calling thread can be recorded. */
void pages_begin(void);

#endif
