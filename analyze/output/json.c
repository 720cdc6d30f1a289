/* SPDX-License-Identifier: MIT */
#include "json.h"

#include "utf8.h"

static void write_character(struct out *out, const char *s, unsigned n)
{
	if (n == 0)
		out_text(out, "\\ufffd");
	else if (n == 1 && ((unsigned char)*s < 0x20 || *s == 0x7f))
		out_printf(out, "\\u%04x", (unsigned char)*s);
	else if (n == 1 && (*s == '"' || *s == '\\'))
		out_printf(out, "\\%c", *s);
	else
		out_write(out, s, n);
}

/* How many of the next characters are written as they are. The end of a text is none of them. */
static size_t plain_run(const char *text)
{
	size_t n = 0;
	while (text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

void json_part(struct out *out, const char *text)
{
	for (;;) {
		const size_t run = plain_run(text);
		out_write(out, text, run);
		text += run;
		if (*text == 0)
			return;
		const unsigned n = utf8_length(text);
		write_character(out, text, n);
		text += n ? n : 1;
	}
}

void json_string(struct out *out, const char *text)
{
	out_text(out, "\"");
	json_part(out, text);
	out_text(out, "\"");
}
