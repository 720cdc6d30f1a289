/* SPDX-License-Identifier: MIT */
#include "option_seconds.h"

#include <stdio.h>
#include <string.h>

#include "duration.h"

#define MOST_NS (UINT64_C(86400) * 1000000000u)

uint64_t option_seconds(struct argp_state *state, const char *option, const char *value, uint64_t least)
{
	char text[64];
	uint64_t ns = 0;
	const bool plain = strspn(value, "0123456789.") == strlen(value);
	if (snprintf(text, sizeof(text), "%s%s", value, plain ? "s" : "") >= (int)sizeof(text) ||
	    !duration_parse(text, &ns) || ns < least || ns > MOST_NS)
		argp_error(state, "--%s=%s: should be a time from %.1f to %.0f seconds", option, value,
			   (double)least / 1e9, (double)MOST_NS / 1e9);
	return ns;
}
