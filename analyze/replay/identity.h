/* SPDX-License-Identifier: MIT */
/* Whether a trace says which block each free gives back. */
#ifndef ANALYZE_IDENTITY_H
#define ANALYZE_IDENTITY_H

#include "mstrace.h"

/* Whether blocks go in the chunk and it doesn't say which; it was decoded with MST_IDENTITY or MST_AGES. */
bool chunk_lacks_identity(const struct mst_chunk *chunk);

#endif
