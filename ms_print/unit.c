/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <math.h>
#include <stdio.h>

/* From one unit to the next: at `limit` or more, divide by `divisor`. */
struct step {
	const char *name;
	double limit, divisor;
};

static const struct step bytes[] = {
	{ "B", 1000, 1024 },  { "KB", 1000, 1024 }, { "MB", 1000, 1024 },
	{ "GB", 1000, 1024 }, { "TB", 1000, 1024 }, { "PB", 1000, 1024 },
	{ "EB", 1000, 1024 }, { "ZB", 1000, 1024 }, { "YB", INFINITY, 1 },
};

static const struct step instructions[] = {
	{ "i", 1000, 1024 },  { "ki", 1000, 1024 }, { "Mi", 1000, 1024 },
	{ "Gi", 1000, 1024 }, { "Ti", 1000, 1024 }, { "Pi", 1000, 1024 },
	{ "Ei", 1000, 1024 }, { "Zi", 1000, 1024 }, { "Yi", INFINITY, 1 },
};

static const struct step milliseconds[] = {
	{ "ms", 1000, 1000 },
	{ "s", 3600, 3600 },
	{ "h", INFINITY, 1 },
};

static void unit_set_label(struct unit *unit, double value, double scaled)
{
	if (value < 1000)
		snprintf(unit->label, sizeof(unit->label), "%5d", (int)value);
	else if (isinf(scaled))
		snprintf(unit->label, sizeof(unit->label), "%5s", "Inf");
	else if (scaled < 10)
		snprintf(unit->label, sizeof(unit->label), "%5.3f", scaled);
	else if (scaled < 100)
		snprintf(unit->label, sizeof(unit->label), "%5.2f", scaled);
	else
		snprintf(unit->label, sizeof(unit->label), "%5.1f", scaled);
}

static void unit_take_steps(struct unit *unit, const struct step *step, double value)
{
	double scaled = value;

	/* An infinite value takes every step but the last, whose divisor of 1 marks it. */
	for (; scaled >= step->limit && step->divisor > 1; step++)
		scaled /= step->divisor;
	unit->name = step->name;
	unit_set_label(unit, value, scaled);
}

bool unit_scale(struct unit *unit, struct span time_unit, struct number value)
{
	const struct step *steps = NULL;

	if (span_equals(time_unit, "B"))
		steps = bytes;
	else if (span_equals(time_unit, "i"))
		steps = instructions;
	else if (span_equals(time_unit, "ms"))
		steps = milliseconds;
	if (steps)
		unit_take_steps(unit, steps, number_real(value));
	return steps != NULL;
}

void unit_scale_bytes(struct unit *unit, struct number value)
{
	unit_take_steps(unit, bytes, number_real(value));
}
