/* SPDX-License-Identifier: MIT */
#include "span_query.h"

#include <stddef.h>
#include <string.h>

#include "duration.h"

#define LEAST_PERIOD_NS 1000000u

/* What follows a word and a colon. NULL: the text doesn't begin so; "mark::f" is a function of a namespace. */
static const char *after(const char *text, const char *word)
{
	const size_t n = strlen(word);
	return strncmp(text, word, n) == 0 && text[n] == ':' && text[n + 1] != ':' ? text + n + 1 : NULL;
}

bool span_query_parse(struct span_query *q, const char *text)
{
	const char *name = after(text, "mark"), *each = after(text, "each");
	const char *function = after(text, "function"), *period = after(text, "every");
	*q = (struct span_query){ .kind = SPANS_CALLS, .text = text, .pattern = text };
	if (period) {
		q->kind = SPANS_WINDOWS;
		return duration_parse(period, &q->period_ns) && q->period_ns >= LEAST_PERIOD_NS;
	}
	if (strcmp(text, "thread") == 0) {
		q->kind = SPANS_THREADS;
	} else if (name) {
		q->kind = SPANS_MARKED;
		q->pattern = name;
	} else if (each) {
		q->each = true;
		q->pattern = each;
	} else if (function) {
		q->pattern = function;
	}
	return *q->pattern;
}
