/* SPDX-License-Identifier: MIT */
/* The flows of all slices in the order of slices, as variable-length numbers; and sums of flows by stack. */
#ifndef ANALYZE_PAGE_FLOW_LOG_H
#define ANALYZE_PAGE_FLOW_LOG_H

#include "flows.h"

/* Zero-initialised is empty. */
struct flow_log {
	uint8_t *bytes;
	size_t n, room;
	size_t ends[FLOWS_SLICES]; /* of each slice, in `bytes` */
	uint32_t n_slices;
};

void flow_log_finish(struct flow_log *log);

/* Adds a flow to the slice that flow_log_end_slice() ends; flow->slice is ignored. False: no memory. */
bool flow_log_add(struct flow_log *log, const struct flow *flow);
void flow_log_end_slice(struct flow_log *log);

bool flow_log_next(const struct flow_log *log, struct flows_cursor *cursor, struct flow *flow);

/* Zero-initialised is empty. */
struct flow_sums {
	struct flow *items; /* by stack */
	uint32_t room;
	uint32_t *touched; /* stacks, each once */
	uint32_t n_touched, room_touched;
	bool *is_touched; /* by stack */
	uint32_t room_is;
};

void flow_sums_finish(struct flow_sums *sums);
/* The sums of a stack, which is touched now. Valid until the next call. NULL: no memory. */
struct flow *flow_sums_of(struct flow_sums *sums, uint32_t stack);
/* Adds all sums to the log, as one slice, and clears them. False: no memory. */
bool flow_sums_log(struct flow_sums *sums, struct flow_log *log);

#endif
