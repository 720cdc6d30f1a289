/* SPDX-License-Identifier: MIT */
/*
 * .debug_aranges: which unit an address belongs to, without a look at all of them. A compiler may write none, so
 * that an address that isn't found says nothing; and it is a claim, to be compared with what the unit says itself.
 */
#ifndef NAMES_ARANGES_H
#define NAMES_ARANGES_H

#include <libelf.h>

#include "ranges.h"

/*
 * Adds each range of the section, in this machine's byte order, with its unit's number: their places in .debug_info are
 * put into *offsets, allocated. Returns how many units; 0 if there are none, they can't be read, or there is no memory.
 */
uint32_t aranges_read(const Elf_Data *section, struct ranges *ranges, uint64_t **offsets);

#endif
