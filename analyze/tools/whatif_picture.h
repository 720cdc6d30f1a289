/* SPDX-License-Identifier: MIT */
/* Draws the address space of one player over time. */
#ifndef ANALYZE_WHATIF_PICTURE_H
#define ANALYZE_WHATIF_PICTURE_H

#include "whatif_play.h"

/* With the first setup that could be played. False after a message. */
bool whatif_draw(const struct whatif_job *job, const char *name);

#endif
