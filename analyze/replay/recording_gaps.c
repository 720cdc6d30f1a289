/* SPDX-License-Identifier: MIT */
#include "recording_gaps.h"

/* Whether there is a marker MST_OP_OFF: one that says that recording began late, or one that it was switched off. */
static bool any_off(const struct mst_reader *reader, bool late)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	bool any = false;

	for (uint32_t i = 0; i < n && !any; i++)
		any = kinds[i].op == MST_OP_OFF && (kinds[i].size == MST_OFF_LATE) == late;
	return any;
}

bool recording_was_off(const struct mst_reader *reader)
{
	return any_off(reader, false);
}

bool recording_began_late(const struct mst_reader *reader)
{
	return any_off(reader, true);
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
