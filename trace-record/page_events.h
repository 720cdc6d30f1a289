/* SPDX-License-Identifier: MIT */
/* Page events (operations 45 to 53) from the rings into a trace. Errors are those of the writer. */
#ifndef TRACE_RECORD_PAGE_EVENTS_H
#define TRACE_RECORD_PAGE_EVENTS_H

#include "consumer.h"
#include "mst_writer.h"
#include "page_state.h"

/* The stack of what was mapped when recording began, which is the one that Massif gives it. */
int page_events_start(struct mst_writer *writer, uint32_t *stack);

/* Writes one event, and before a mremap what it was given. `base` follows them, if it isn't NULL. */
int page_events_write(struct mst_writer *writer, struct page_state *base, const struct consumer_event *e,
		      uint32_t stack);

#endif
