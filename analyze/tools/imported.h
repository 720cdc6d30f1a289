/* SPDX-License-Identifier: MIT */
/* Inputs of other programs, read as traces. */
#ifndef ANALYZE_IMPORTED_H
#define ANALYZE_IMPORTED_H

#include "import.h"
#include "tool.h"

/* Finds the importer by the first bytes of a regular file. NULL: no importer knows them; the input may be a trace. */
const struct importer *imported_recognize(const char *input);

/*
 * Imports the file import->name into a trace without a name. import->from is the open file, import->to the trace at its
 * beginning; the caller closes both. False after a message; both are closed.
 */
bool imported_read(const struct tool *tool, const struct importer *importer, struct import *import);

#endif
