/* SPDX-License-Identifier: MIT */
/* The calls that an address of one unit stands for, and what Massif 3.19 makes of them. */
#ifndef NAMES_DWARF_FRAMES_H
#define NAMES_DWARF_FRAMES_H

#include "dwarf_unit.h"
#include "lineinfo.h"

/* As lineinfo_frames(), of a loaded unit and an address of its DWARF. */
size_t unit_frames(struct unit *unit, uint64_t address, struct lineinfo_frame *frames, size_t max);

#endif
