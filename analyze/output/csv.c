/* SPDX-License-Identifier: MIT */
#include "csv.h"

#include <string.h>

#include "out.h"

void csv_text(struct out *out, const char *text)
{
	if (*text && !strpbrk(text, ",\"\r\n")) {
		out_text(out, text);
		return;
	}
	out_text(out, "\"");
	for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
		out_write(out, text, (size_t)(quote - text));
		out_text(out, "\"\"");
	}
	out_text(out, text);
	out_text(out, "\"");
}
