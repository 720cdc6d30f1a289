/* SPDX-License-Identifier: MIT */
/* What is installed with msrec, or lies beside it in a build tree: the recorders, and msreport. */
#ifndef TRACE_RECORD_INSTALLED_H
#define TRACE_RECORD_INSTALLED_H

#include <stdbool.h>

/*
 * For LD_PRELOAD: the library that records and behind it, with --pages, the one that patches system calls, and the one that
 * patches entries. NULL after a message: one is not there, or the loader would take its path for several.
 */
char *installed_preload(bool with_pages, bool with_entries);

/* The library for a process that runs; NULL after a message: it is not there. To be freed. */
char *installed_attached(void);

/* The program that starts the tool for Valgrind; NULL after a message: it is not there. */
char *installed_valgrind(void);

/* msreport; NULL: it is not there. */
char *installed_msreport(void);

/* msconvert; NULL after a message: it is not there. To be freed. */
char *installed_msconvert(void);

#endif
