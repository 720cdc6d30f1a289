/* SPDX-License-Identifier: MIT */
/* Sums of chunks: as bytes, and of several chunks as if they were one. Private. */
#ifndef MSTRACE_SUMS_H
#define MSTRACE_SUMS_H

#include "bytes.h"
#include "mstrace.h"

void sums_pack(const struct mst_sums *sums, struct bytes *to);
struct mst_sums sums_unpack(const uint8_t *from);

/* Adds the sums of the chunk that follows those of `all`. */
void sums_add(struct mst_sums *all, const struct mst_sums *chunk);

#endif
