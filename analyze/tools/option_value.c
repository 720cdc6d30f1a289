/* SPDX-License-Identifier: MIT */
#include "option_value.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "number.h"

int option_value_bool(const struct option_value *value, bool *result)
{
	*result = !value->text || strcmp(value->text, "yes") == 0;
	if (*result || strcmp(value->text, "no") == 0)
		return 0;
	return refusal_bad_value(value->refusal, value->option, value->text,
				 "Invalid boolean value '%s' (should be 'yes' or 'no')", value->text);
}

int option_value_integer(const struct option_value *value, int64_t least, int64_t most, int64_t *result)
{
	if (number_integer(value->text, result) && *result >= least && *result <= most)
		return 0;
	return refusal_bad_value(value->refusal, value->option, value->text, "Invalid integer value '%s'",
				 value->text);
}

int option_value_range(const struct option_value *value, bool wide, unsigned low, unsigned high,
		       unsigned *result)
{
	int64_t n;
	const int error =
		option_value_integer(value, wide ? INT64_MIN : INT_MIN, wide ? INT64_MAX : INT_MAX, &n);
	if (error)
		return error;
	if (n < low || n > high)
		return refusal_bad_value(value->refusal, value->option, value->text,
					 "'--%s' argument must be between %u and %u", value->option, low,
					 high);
	*result = (unsigned)n;
	return 0;
}

int option_value_float(const struct option_value *value, double *result)
{
	if (number_float(value->text, result))
		return 0;
	return refusal_bad_value(value->refusal, value->option, value->text,
				 "Invalid floating point value '%s'", value->text);
}

int option_value_word(const struct option_value *value, const char *const *words, const char *known,
		      unsigned *result)
{
	for (unsigned i = 0; words[i]; i++) {
		if (strcmp(value->text, words[i]) != 0)
			continue;
		*result = i;
		return 0;
	}
	return refusal_value(value->refusal, value->option, value->text, known);
}
