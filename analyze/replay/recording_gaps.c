/* SPDX-License-Identifier: MIT */
#include "recording_gaps.h"

bool recording_was_off(const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	bool off = false;

	for (uint32_t i = 0; i < n && !off; i++)
		off = kinds[i].op == MST_OP_OFF;
	return off;
}

bool recording_has_earlier_blocks(const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_frame *frames = mst_reader_frames(reader, &n);
	bool earlier = false;

	for (uint32_t i = 0; i < n && !earlier; i++)
		earlier = mst_frame_is_earlier(&frames[i]);
	return earlier;
}

bool recording_has_only_pages(const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	bool only = mst_reader_info(reader)->pages;

	for (uint32_t i = 0; i < n && only; i++)
		only = kinds[i].op == MST_OP_UNKNOWN || kinds[i].op >= MST_OP_IMPLIED_FREE;
	return only;
}
