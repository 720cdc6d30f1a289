/* SPDX-License-Identifier: MIT */
#include "cut_stacks.h"

#include <assert.h>
#include <stdlib.h>

/* Whether any frame stands for the callers of cut stacks; *frames is the first one's number of frames. */
static bool find_cut(const struct mst_reader *reader, uint32_t *frames)
{
	uint32_t n, cut = 0;
	const struct mst_frame *items = mst_reader_frames(reader, &n);

	for (uint32_t i = 0; i < n && !cut; i++)
		cut = mst_frame_cut(&items[i]);
	*frames = cut;
	return cut;
}

/* By stack: it was cut. A stack's parent has a lower number. */
static void mark_cut(const struct mst_reader *reader, bool *cut)
{
	uint32_t n;
	const struct mst_frame *frames = mst_reader_frames(reader, &n);
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n);

	for (uint32_t i = 1; i < n; i++) {
		assert(stacks[i].parent < i);
		cut[i] = cut[stacks[i].parent] || mst_frame_cut(&frames[stacks[i].frame]);
	}
}

uint32_t cut_stacks_count(const struct mst_reader *reader, uint32_t *frames)
{
	uint32_t n_stacks, n_kinds, count = 0;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

	mst_reader_stacks(reader, &n_stacks);
	if (!find_cut(reader, frames))
		return 0;

	bool *cut = calloc(n_stacks + (size_t)1, sizeof(*cut));

	if (cut)
		mark_cut(reader, cut);
	for (uint32_t i = 0; cut && i < n_kinds; i++) {
		count += cut[kinds[i].stack];
		cut[kinds[i].stack] = false;
	}
	free(cut);
	return count;
}
