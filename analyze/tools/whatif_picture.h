/* SPDX-License-Identifier: MIT */
/* Draws the address space of one player over time. */
#ifndef ANALYZE_WHATIF_PICTURE_H
#define ANALYZE_WHATIF_PICTURE_H

#include "picture.h"
#include "whatif_play.h"

/* Plays with the first setup that could be played. False after a message; picture_finish() must follow either way. */
bool whatif_paint(const struct whatif_job *job, struct picture *picture);

/* Writes a file of SVG. False after a message. */
bool whatif_draw(const struct whatif_job *job, const struct picture *picture, const char *name);

#endif
