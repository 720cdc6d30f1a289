/* SPDX-License-Identifier: MIT */
#include "thousands.h"

#include <inttypes.h>
#include <stdio.h>

char *thousands(char text[THOUSANDS_SIZE], uint64_t n)
{
	char digits[24], *to = text;
	const int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}
