/* SPDX-License-Identifier: MIT */
#include "aranges.h"

#include <stdlib.h>

#include "array.h"
#include "dwarfbytes.h"

#define VERSION 2
#define PAIR 16u /* bytes of an address and a length; each begins at a multiple of that in its set */

/* Adds the ranges of the unit with this number. False: no memory. */
static bool add_pairs(struct dwarfbytes *set, struct ranges *ranges, uint32_t unit)
{
	while (set->left >= PAIR) {
		const uint64_t lo = dwarfbytes_u64(set), size = dwarfbytes_u64(set);

		if (lo == 0 && size == 0)
			return true;
		/* A range at 0 is of a function that the linker threw away. */
		if (lo && lo + size > lo && !ranges_add(ranges, lo, lo + size, unit))
			return false;
	}
	return true;
}

/* Reads the next set. False: it makes no sense. */
static bool next_set(struct dwarfbytes *section, struct dwarfbytes *set, uint64_t *offset)
{
	const uint8_t *start = section->at;
	const uint64_t length = dwarfbytes_length(section);
	uint8_t address_size, segment_size;
	uint16_t version;
	size_t padding;

	if (section->short_of || length > section->left)
		return false;
	*set = (struct dwarfbytes){ .at = section->at, .left = length, .wide = section->wide };
	section->at += length;
	section->left -= length;
	version = dwarfbytes_u16(set);
	*offset = dwarfbytes_offset(set);
	address_size = dwarfbytes_u8(set);
	segment_size = dwarfbytes_u8(set);
	padding = (PAIR - (size_t)(set->at - start) % PAIR) % PAIR;
	if (set->short_of || version != VERSION || address_size != 8 || segment_size != 0)
		return false;
	if (padding > set->left)
		padding = set->left;
	set->at += padding;
	set->left -= padding;
	return true;
}

uint32_t aranges_read(const Elf_Data *section, struct ranges *ranges, uint64_t **offsets)
{
	struct dwarfbytes bytes = { .at = section->d_buf, .left = section->d_buf ? section->d_size : 0 }, set;
	uint32_t n = 0, capacity = 0;
	uint64_t offset;
	bool fine = true;

	*offsets = NULL;
	while (fine && bytes.left && (fine = next_set(&bytes, &set, &offset))) {
		fine = array_reserve(offsets, n, &capacity, sizeof(**offsets));
		if (fine) {
			(*offsets)[n] = offset;
			fine = add_pairs(&set, ranges, n++);
		}
	}
	if (fine && ranges_seal(ranges))
		return n;
	ranges_finish(ranges);
	free(*offsets);
	*offsets = NULL;
	return 0;
}
