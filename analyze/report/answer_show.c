/* SPDX-License-Identifier: MIT */
/* One value as people read it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer_formats.h"
#include "figures.h"
#include "printable.h"
#include "short_name.h"
#include "thousands.h"
#include "utf8.h"
#include "width.h"

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Makes \xNN of each byte that isn't ASCII. Consumes `text`; NULL: it was NULL, or no memory. */
static char *to_ascii(char *text)
{
	size_t n = 1;
	for (const char *c = text; c && *c; c++)
		n += *c & 0x80 ? 4 : 1;
	char *copy = text ? malloc(n) : NULL, *to = copy;
	for (const char *c = text; copy && *c; c++) {
		if (*c & 0x80)
			to += sprintf(to, "\\x%02x", (unsigned char)*c);
		else
			*to++ = *c;
	}
	if (copy)
		*to = '\0';
	free(text);
	return copy;
}

char *answer_show_note(const struct answer_note *note, const struct answer_style *style)
{
	char *copy = printable_copy(note->text, strlen(note->text));
	return style->utf8 ? copy : to_ascii(copy);
}

static char *describe_filter(const struct answer_filter *f)
{
	char calls[FIGURE_SIZE], bytes[FIGURE_SIZE], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool fine = out;
	if (!out)
		return NULL;
	fputs("filtered:", out);
	for (size_t i = 0; i < f->n && fine; i++) {
		char *word = printable_copy(f->words[i], strlen(f->words[i]));
		fine = word && fprintf(out, " %s", word) > 0;
		free(word);
	}
	fprintf(out, ": %s of calls, %s of bytes", figure_share(calls, share(f->calls, f->all_calls)),
		figure_share(bytes, share(f->bytes, f->all_bytes)));
	if (fclose(out) == 0 && fine)
		return text;
	free(text);
	return NULL;
}

char *answer_show_filter(const struct answer_filter *f, const struct answer_style *style)
{
	char *text = describe_filter(f);
	return style->utf8 ? text : to_ascii(text);
}

/* ---- Names ---- */

/* "/a/long/path/file.c:12" keeps its end. */
static char *shorten_place(char *text, unsigned most, const char *ellipsis)
{
	char *slash = strrchr(text, '/');
	if (slash)
		memmove(text, slash + 1, strlen(slash + 1) + 1);
	return width_cut_left(text, most, ellipsis);
}

static char *show_text(const char *text, enum answer_unit unit, unsigned most, bool utf8)
{
	const char *ellipsis = utf8 ? "\u2026" : "...";
	char *copy = printable_copy(text, strlen(text));
	copy = utf8 ? copy : to_ascii(copy);
	if (!copy)
		return NULL;
	if (unit == ANSWER_FUNCTION)
		return short_name(copy, most, ellipsis);
	if (unit == ANSWER_PLACE)
		return shorten_place(copy, most, ellipsis);
	if (unit == ANSWER_TAIL)
		return width_cut_left(copy, most, ellipsis);
	return width_cut_right(copy, most, ellipsis);
}

/* ---- Graphs ---- */

static const char *const blocks[] = { "\u2581", "\u2582", "\u2583", "\u2584",
				      "\u2585", "\u2586", "\u2587", "\u2588" };
static const char ascii[] = ".:-=+*#@";

enum { LEVELS = 8, LONGEST = 4 }; /* bytes of a level */

/* Each of the graph's characters shows the largest of its share of the numbers. */
static char *show_series(const struct answer_value *value, unsigned most, bool utf8)
{
	const unsigned n = value->n < most ? value->n : most;
	int64_t high = 0;
	char *text = calloc(n + (size_t)1, LONGEST), *to = text;
	for (uint32_t i = 0; i < value->n; i++)
		high = value->series[i] > high ? value->series[i] : high;
	for (unsigned i = 0; text && i < n; i++) {
		const uint32_t from = (uint32_t)((uint64_t)i * value->n / n);
		const uint32_t end = (uint32_t)((uint64_t)(i + 1) * value->n / n);
		int64_t here = 0;
		for (uint32_t k = from; k < end; k++)
			here = value->series[k] > here ? value->series[k] : here;
		const int level = high ? (int)ceil((double)here / (double)high * LEVELS) : 0;
		if (level == 0)
			*to++ = ' ';
		else if (utf8)
			to = stpcpy(to, blocks[level - 1]);
		else
			*to++ = ascii[level - 1];
	}
	return text;
}

/* ---- Values ---- */

static char *show_number(const struct answer_value *value, enum answer_unit unit, bool si)
{
	char text[FIGURE_SIZE];
	const uint64_t n = value->number;
	switch (unit) {
	case ANSWER_BYTES:
		return strdup(figure_bytes(text, n, si));
	case ANSWER_SIGNED:
		return strdup(figure_change(text, n, si));
	case ANSWER_SIGNED_COUNT:
		return strdup(figure_count_change(text, n));
	case ANSWER_NS:
		return strdup(figure_time(text, n));
	case ANSWER_ID:
		snprintf(text, sizeof(text), "%06x", (unsigned)(n >> 40));
		return strdup(text);
	default:
		return strdup(thousands(text, n));
	}
}

char *answer_show(const struct answer_value *value, enum answer_unit unit, unsigned most,
		  const struct answer_style *style)
{
	char text[FIGURE_SIZE];
	switch (value->is) {
	case ANSWER_IS_NOTHING:
		break;
	case ANSWER_IS_NUMBER:
		return show_number(value, unit, style->si);
	case ANSWER_IS_REAL:
		if (unit == ANSWER_SHARE)
			return strdup(figure_share(text, value->real));
		if (unit == ANSWER_SIGNED_SHARE)
			return strdup(figure_share_change(text, value->real));
		snprintf(text, sizeof(text), "%.3g", value->real);
		return strdup(text);
	case ANSWER_IS_TEXT:
		return show_text(value->text, unit, most, style->utf8);
	case ANSWER_IS_SERIES:
		return show_series(value, most, style->utf8);
	}
	return strdup("");
}
