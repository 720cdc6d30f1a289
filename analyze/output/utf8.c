/* SPDX-License-Identifier: MIT */
#include "utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

unsigned utf8_length(const char *text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	const unsigned n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
	uint32_t code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	if (n == 0 || s[0] >= 0xf8)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

bool utf8_is_valid(const char *text)
{
	for (unsigned n; *text; text += n) {
		n = utf8_length(text);
		if (n == 0)
			return false;
	}
	return true;
}

char *utf8_repair(const char *text)
{
	char *copy = malloc(strlen(text) * strlen(REPLACEMENT) + 1), *to = copy;
	if (!copy)
		return NULL;
	while (*text) {
		const unsigned n = utf8_length(text);
		memcpy(to, n ? text : REPLACEMENT, n ? n : strlen(REPLACEMENT));
		to += n ? n : strlen(REPLACEMENT);
		text += n ? n : 1;
	}
	*to = '\0';
	return copy;
}
