/* SPDX-License-Identifier: MIT */
/* Inputs of other programs, read as traces. */
#ifndef ANALYZE_IMPORTED_H
#define ANALYZE_IMPORTED_H

#include "import.h"
#include "tool.h"

/* Finds the importer by the first bytes of a regular file. NULL: no importer knows them; the input may be a trace. */
const struct importer *imported_recognize(const char *input);

/* The same of an open file that can be read more than once; its position is as before. */
const struct importer *imported_recognize_file(int fd);

/*
 * Imports the file import->name into a trace without a name. import->from is the open file, import->to the trace at its
 * beginning; the caller closes both. False after a message; both are closed.
 */
bool imported_read(const struct tool *tool, const struct importer *importer, struct import *import);

/* The same of import->from, which is open. */
bool imported_read_file(const struct tool *tool, const struct importer *importer, struct import *import);

#endif
