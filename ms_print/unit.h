/* SPDX-License-Identifier: MIT */
/*
 * The unit of an axis: how a value at its end is scaled and labelled. Bytes and instructions go up in steps
 * of 1024, taken as soon as the scaled value reaches 1000; milliseconds become seconds, then hours.
 */
#ifndef MS_PRINT_UNIT_H
#define MS_PRINT_UNIT_H

#include "number.h"

/* A double's 309 digits, a dot, a decimal and the end. */
#define UNIT_LABEL_SIZE 320

struct unit {
	const char *name;            /* to be printed at the axis */
	char label[UNIT_LABEL_SIZE]; /* the value, at least 5 characters wide */
};

/* `time_unit` is massif's: i, ms or B. False if it is none of them. */
bool unit_scale(struct unit *unit, struct span time_unit, struct number value);

void unit_scale_bytes(struct unit *unit, struct number value);

#endif
