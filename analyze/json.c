/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <stdint.h>

/* Bytes of the character at `s`, 0: it is none (overlong, a surrogate, beyond U+10FFFF, cut). */
static unsigned character_length(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
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

static void write_character(struct out *out, const unsigned char *s, unsigned n)
{
	if (n == 0)
		out_text(out, "\\ufffd");
	else if (n == 1 && (*s < 0x20 || *s == 0x7f))
		out_printf(out, "\\u%04x", *s);
	else if (n == 1 && (*s == '"' || *s == '\\'))
		out_printf(out, "\\%c", *s);
	else
		out_write(out, s, n);
}

void json_string(struct out *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	out_text(out, "\"");
	while (*s) {
		const unsigned n = character_length(s);
		write_character(out, s, n);
		s += n ? n : 1;
	}
	out_text(out, "\"");
}
