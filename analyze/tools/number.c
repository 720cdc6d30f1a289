/* SPDX-License-Identifier: MIT */
#include "number.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *text)
{
	while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
		text++;
	return text;
}

static const char *take_sign(const char *text, bool *negative)
{
	*negative = *text == '-';
	return *text == '-' || *text == '+' ? text + 1 : text;
}

bool number_integer(const char *text, int64_t *value)
{
	*value = 0;
	if (*text == '\0')
		return true;
	bool negative;
	const char *p = take_sign(skip_blanks(text), &negative);
	if (!is_digit(*p))
		return false;
	uint64_t n = 0;
	for (; is_digit(*p); p++)
		n = 10 * n + (uint64_t)(*p - '0');
	*value = (int64_t)(negative ? -n : n);
	return *p == '\0';
}

bool number_natural(const char *text, uint64_t most, uint64_t *value)
{
	bool negative;
	const char *p = take_sign(skip_blanks(text), &negative);
	bool fits = is_digit(*p) && !negative;
	for (*value = 0; is_digit(*p) && fits; p++) {
		const uint64_t digit = (uint64_t)(*p - '0');
		fits = digit <= most && *value <= (most - digit) / 10;
		*value = 10 * *value + digit;
	}
	return fits && *p == '\0';
}

bool number_float(const char *text, double *value)
{
	bool negative;
	const char *p = take_sign(skip_blanks(text), &negative);
	double n = 0, fraction = 0;
	for (; is_digit(*p); p++)
		n = 10 * n + (*p - '0');
	if (*p == '.') {
		double weight = 0.1;
		for (p++; is_digit(*p); p++) {
			fraction += weight * (*p - '0');
			weight /= 10;
		}
	}
	n += fraction;
	*value = negative ? -n : n;
	return *p == '\0';
}
