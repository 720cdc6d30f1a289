/* SPDX-License-Identifier: MIT */
/*
 * .debug_aranges: the unit that an address belongs to, without a look at all units. A compiler may write none, so a
 * missing address says nothing. Each range is a claim, to be compared with what the unit itself says.
 */
#ifndef NAMES_ARANGES_H
#define NAMES_ARANGES_H

#include <libelf.h>

#include "ranges.h"

/*
 * Adds each range of the section, which is in this machine's byte order, with the number of its unit. *offsets gets the
 * places of the units in .debug_info, to be freed. Returns how many units; 0: none, not readable, or no memory.
 */
uint32_t aranges_read(const Elf_Data *section, struct ranges *ranges, uint64_t **offsets);

#endif
