/* SPDX-License-Identifier: MIT */
/* Page events (operations 45 to 53) from the rings into a trace. Errors are those of the writer. */
#ifndef TRACE_RECORD_PAGE_EVENTS_H
#define TRACE_RECORD_PAGE_EVENTS_H

#include "consumer.h"
#include "mst_writer.h"
#include "page_state.h"

/* The stack of the mappings at the start of the recording, as Massif has it. */
int page_events_start(struct mst_writer *writer, uint32_t *stack);

/* Writes one event; for a mremap, the old mapping before it. `state`, if not NULL, follows them. */
int page_events_write(struct mst_writer *writer, struct page_state *state, const struct consumer_event *e,
		      uint32_t stack);

#endif
