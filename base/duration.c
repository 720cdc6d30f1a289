/* SPDX-License-Identifier: MIT */
#include "duration.h"

#include <stddef.h>
#include <string.h>

#include "scale.h"

#define MOST ((uint64_t)INT64_MAX)

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "", 1000000 },      { "us", 1000 },         { "ms", 1000000 },      { "s", 1000000000 },
	{ "m", 60000000000 }, { "min", 60000000000 }, { "h", 3600000000000 },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits, then perhaps a point and more: in units of `ns`, rounded down. NULL: no such number, or too large. */
static const char *parse_number(const char *text, uint64_t ns, uint64_t *value)
{
	uint64_t n = 0, part = ns;
	if (!is_digit(*text))
		return NULL;
	for (; is_digit(*text); text++) {
		if (n > (MOST / ns - 9) / 10)
			return NULL;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*value = n * ns;
	if (*text != '.')
		return text;
	uint64_t fraction = 0, unit = 1;
	for (text++; is_digit(*text); text++) {
		if (unit < 1000000000) {
			fraction = fraction * 10 + (uint64_t)(*text - '0');
			unit *= 10;
		}
	}
	*value += scale(part, fraction, unit);
	return text;
}

/* [HH:]MM:SS[.fraction] */
static bool parse_clock(const char *text, uint64_t *ns)
{
	uint64_t sum = 0, field;
	for (int fields = 1;; fields++) {
		const char *end = parse_number(text, 1000000000, &field);
		if (!end || fields > 3 || sum > MOST / 60 - field)
			return false;
		sum = sum * 60 + field;
		if (*end == '\0') {
			*ns = sum;
			return fields > 1;
		}
		if (*end != ':' || memchr(text, '.', (size_t)(end - text)))
			return false;
		text = end + 1;
	}
}

bool duration_parse(const char *text, uint64_t *ns)
{
	const size_t digits = strspn(text, "0123456789.");
	if (strchr(text, ':'))
		return parse_clock(text, ns);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(text + digits, units[i].name) == 0)
			return parse_number(text, units[i].ns, ns) == text + digits;
	}
	return false;
}
