/* SPDX-License-Identifier: MIT */
/* Says which threads a trace has, where --thread names one that it doesn't have. */
#ifndef ANALYZE_THREAD_LIST_H
#define ANALYZE_THREAD_LIST_H

#include "tool.h"

void thread_list_notice(const struct tool *tool, const struct tool_trace *trace, const char *word);

#endif
