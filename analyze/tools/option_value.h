/* SPDX-License-Identifier: MIT */
/*
 * The value of an option, parsed by Massif's grammar and refused in Massif's words (refusal.h). The functions return
 * 0, EINVAL for a value that is refused, or ENOMEM.
 */
#ifndef ANALYZE_OPTION_VALUE_H
#define ANALYZE_OPTION_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "refusal.h"

struct option_value {
	const char *option; /* its name */
	const char *text;   /* NULL: the option stands alone */
	struct refusal *refusal;
};

/* "yes", "no", or an option that stands alone, which means "yes". */
int option_value_bool(const struct option_value *value, bool *result);

/* [least, most] is the range of Massif's variable. Massif rejects other values as no number. */
int option_value_integer(const struct option_value *value, int64_t least, int64_t most, int64_t *result);

/* A number from `low` to `high`, in a variable of Massif that has 64 bits if `wide`, else 32. */
int option_value_range(const struct option_value *value, bool wide, unsigned low, unsigned high,
		       unsigned *result);

int option_value_float(const struct option_value *value, double *result);

/* The index in a NULL-terminated list of words; `known` is what a refusal says the value should be. */
int option_value_word(const struct option_value *value, const char *const *words, const char *known,
		      unsigned *result);

#endif
