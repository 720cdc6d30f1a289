/* SPDX-License-Identifier: MIT */
#include "identity.h"

bool chunk_lacks_identity(const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; chunk->n_freed == 0 && chunk->n_ages == 0 && i < chunk->n_tokens; i++) {
		if (chunk->tokens[i].role == MST_FREE || chunk->tokens[i].role == MST_OUT)
			return true;
	}
	return false;
}
