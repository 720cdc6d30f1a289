/* SPDX-License-Identifier: MIT */
#include "limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scale.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MOST_TEXT 1024 /* bytes of a limit */
#define BLANKS " \t"

static const char no_memory[] = "out of memory";

static const struct {
	const char *word;
	bool bytes, stacks; /* stacks: filters can choose some */
} measures[MEASURES] = {
	[MEASURE_PEAK] = { "peak", true, true },
	[MEASURE_END] = { "end", true, true },
	[MEASURE_LEAKED] = { "leaked", true, true },
	[MEASURE_LIVE] = { "live", true, true },
	[MEASURE_BYTES] = { "bytes", true, true },
	[MEASURE_CALLS] = { "calls", false, true },
	[MEASURE_TEMPORARY] = { "temporary", false, true },
	[MEASURE_LARGEST] = { "largest", true, true },
	[MEASURE_RSS] = { "rss", true, false },
	[MEASURE_THREADS] = { "threads", false, false },
	[MEASURE_ERRORS] = { "errors", false, false },
};

static const char *const ops[] = {
	[LIMIT_AT_MOST] = "<=", [LIMIT_LESS] = "<",      [LIMIT_EQUAL] = "==",
	[LIMIT_MORE] = ">",     [LIMIT_AT_LEAST] = ">=",
};

bool measure_is_bytes(enum measure measure)
{
	return measures[measure].bytes;
}

void limit_finish(struct limit *l)
{
	free(l->text);
	free(l->subject);
	free(l->at_mark);
	for (unsigned i = 0; i < l->n_filters; i++)
		free(l->filters[i].pattern);
	*l = (struct limit){ 0 };
}

/* ---- Parsing ---- */

static const char *skip(const char *text)
{
	return text + strspn(text, BLANKS);
}

static const char *parse_measure(struct limit *l, const char **text)
{
	const size_t n = strspn(*text, "abcdefghijklmnopqrstuvwxyz");
	for (unsigned i = 0; i < MEASURES; i++) {
		if (strlen(measures[i].word) == n && strncmp(measures[i].word, *text, n) == 0) {
			l->measure = (enum measure)i;
			*text = skip(*text + n);
			return NULL;
		}
	}
	return "should begin with peak, end, leaked, live, bytes, calls, temporary, largest, rss, threads or errors";
}

/* Digits with a fraction, times `times`; false: no number, or too large. */
static bool scale_number(const char *digits, size_t n, uint64_t times, uint64_t *amount)
{
	uint64_t value = 0, unit = 1;
	bool fraction = false;
	for (size_t i = 0; i < n; i++) {
		if (digits[i] == '.') {
			if (fraction)
				return false;
			fraction = true;
			continue;
		}
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value))
			return false;
		unit *= fraction ? 10 : 1;
		if (unit > 1000000000)
			return false;
	}
	*amount = scale(value, times, unit);
	return n && *amount <= INT64_MAX;
}

/* In whole milliseconds: 300, 300ms, 1.5s, 2m, 1h. */
static const char *parse_time(struct limit *l, const char *text, size_t n)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = { { "", 1 },      { "ms", 1 },      { "s", 1000 },
		      { "m", 60000 }, { "min", 60000 }, { "h", 3600000 } };
	const size_t digits = strspn(text, "0123456789.") < n ? strspn(text, "0123456789.") : n;
	for (size_t i = 0; i < COUNT(units); i++) {
		if (strlen(units[i].name) == n - digits &&
		    strncmp(units[i].name, text + digits, n - digits) == 0 &&
		    scale_number(text, digits, units[i].ms, &l->at_ms))
			return NULL;
	}
	return "at= should be a time such as 300ms or 1.5s, or mark:NAME";
}

/* A name with * is a pattern of the whole name; with parameters it is not, because * may be of a pointer. */
static bool is_pattern(const char *name, size_t n)
{
	return memchr(name, '*', n) && !memchr(name, '(', n);
}

static bool add_filter(struct limit *l, int sort, const char *text, size_t n)
{
	struct limit_filter *const f = &l->filters[l->n_filters];
	const bool whole = sort == LIMIT_FUNCTION_IS && is_pattern(text, n);
	f->sort = whole ? LIMIT_FUNCTION : sort;
	if (asprintf(&f->pattern, whole ? "^%.*s$" : "%.*s", (int)n, text) < 0)
		return false;
	l->n_filters++;
	return true;
}

/* stack~PATTERN, fn~PATTERN, fn=NAME, at=TIME: what stands before the comma or the closing bracket. */
static const char *parse_filter(struct limit *l, const char *text, size_t n, bool *timed)
{
	static const struct {
		const char *word;
		int sort;
	} sorts[] = { { "stack~", LIMIT_STACK }, { "fn~", LIMIT_FUNCTION }, { "fn=", LIMIT_FUNCTION_IS } };
	if (n > 8 && strncmp(text, "at=mark:", 8) == 0 && !l->at_mark) {
		*timed = true;
		l->at_mark = strndup(text + 8, n - 8);
		return l->at_mark ? NULL : no_memory;
	}
	if (n > 3 && strncmp(text, "at=", 3) == 0) {
		*timed = true;
		return parse_time(l, text + 3, n - 3);
	}
	for (size_t i = 0; i < COUNT(sorts); i++) {
		const size_t length = strlen(sorts[i].word);
		if (n <= length || strncmp(text, sorts[i].word, length) != 0)
			continue;
		if (l->n_filters == LIMIT_FILTERS)
			return "has too many conditions in brackets";
		return add_filter(l, sorts[i].sort, text + length, n - length) ? NULL : no_memory;
	}
	return "in brackets should be stack~PATTERN, fn~PATTERN, fn=NAME, at=TIME or at=mark:NAME";
}

/* The end of a condition: a comma or bracket that no bracket of the pattern's own encloses, as in fn=f(int,int). */
static size_t condition_length(const char *text)
{
	size_t n = 0;
	for (int depth = 0; text[n]; n++) {
		if (strchr("(<[", text[n]))
			depth++;
		else if (depth == 0 && (text[n] == ',' || text[n] == ')'))
			break;
		else if (depth && strchr(")>]", text[n]))
			depth--;
	}
	return n;
}

static const char *parse_filters(struct limit *l, const char **text)
{
	bool timed = false;
	const char *at = *text;
	while (*at == '(' || *at == ',') {
		at = skip(at + 1);
		size_t n = condition_length(at);
		const char *next = at + n;
		while (n && strchr(BLANKS, at[n - 1]))
			n--;
		const char *why = parse_filter(l, at, n, &timed);
		if (why)
			return why;
		at = next;
	}
	if (at != *text && *at != ')')
		return "lacks a closing bracket";
	*text = at == *text ? at : skip(at + 1);
	if (timed != (l->measure == MEASURE_LIVE))
		return timed ? "has at=TIME, which is for live alone" : "lacks the moment: live(at=1.5s)";
	if (l->n_filters && !measures[l->measure].stacks)
		return "is about no stacks";
	return NULL;
}

static const char *parse_op(struct limit *l, const char **text)
{
	size_t longest = 0;
	for (unsigned i = 0; i < COUNT(ops); i++) {
		const size_t n = strlen(ops[i]);
		if (n > longest && strncmp(*text, ops[i], n) == 0) {
			longest = n;
			l->op = (enum limit_op)i;
		}
	}
	*text = skip(*text + longest);
	return longest ? NULL : "should go on with <=, <, ==, > or >=";
}

/* The factor of a unit; 0: there is none such. */
static uint64_t unit_of(const char *unit)
{
	static const char letters[] = "kmgt";
	uint64_t factor = 1;
	if (!*unit || strcmp(unit, "B") == 0)
		return 1;
	const char lower = (char)(*unit | 0x20), *letter = strchr(letters, lower);
	const bool decimal = strcmp(unit + 1, "B") == 0;
	if (!letter || !lower || (unit[1] && !decimal && strcmp(unit + 1, "iB") != 0))
		return 0;
	for (const char *l = letters; l <= letter; l++)
		factor *= decimal ? 1000 : 1024;
	return factor;
}

static const char *parse_bound(struct limit *l, const char *text)
{
	static const char wrong[] = "should end in a bound such as 24M, 1000, +5% or +64k";
	if (*text == '+' || *text == '-') {
		l->relative = true;
		l->negative = *text++ == '-';
	}
	const size_t n = strspn(text, "0123456789."), end = n + strcspn(text + n, BLANKS);
	char unit[8];
	if (end - n >= sizeof(unit) || *skip(text + end))
		return wrong;
	memcpy(unit, text + n, end - n);
	unit[end - n] = '\0';
	l->percent = strcmp(unit, "%") == 0;
	if (l->percent && !l->relative)
		return "has a percentage without a sign: +5%";
	const uint64_t scale = l->percent ? 1000 : unit_of(unit);
	return scale && scale_number(text, n, scale, &l->amount) ? NULL : wrong;
}

static const char *parse(struct limit *l, const char *text)
{
	const char *at = skip(text), *why = parse_measure(l, &at);
	if (!why)
		why = parse_filters(l, &at);
	if (why)
		return why;
	size_t n = (size_t)(at - skip(text));
	while (n && strchr(BLANKS, skip(text)[n - 1]))
		n--;
	l->subject = strndup(skip(text), n);
	why = parse_op(l, &at);
	if (!why)
		why = parse_bound(l, at);
	size_t length = strlen(at);
	while (length && strchr(BLANKS, at[length - 1]))
		length--;
	if (!why &&
	    (!l->subject || asprintf(&l->text, "%s %s %.*s", l->subject, ops[l->op], (int)length, at) < 0)) {
		l->text = NULL;
		return no_memory;
	}
	return why;
}

const char *limit_parse(struct limit *l, const char *text)
{
	*l = (struct limit){ 0 };
	if (strlen(text) > MOST_TEXT)
		return "is too long";
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' && *c != '\t')
			return "has a control character";
	}
	const char *why = parse(l, text);
	if (why)
		limit_finish(l);
	return why;
}

bool limit_is_one(const char *text)
{
	return strpbrk(text, "<>") || strstr(text, "==");
}

/* ---- Bounds ---- */

uint64_t limit_bound(const struct limit *l, uint64_t base)
{
	if (!l->relative)
		return l->amount;
	const uint64_t change = l->percent ? scale(base, l->amount, 100000) : l->amount;
	if (l->negative)
		return change < base ? base - change : 0;
	return change < UINT64_MAX - base ? base + change : UINT64_MAX;
}

bool limit_holds(const struct limit *l, uint64_t value, uint64_t bound)
{
	switch (l->op) {
	case LIMIT_AT_MOST:
		return value <= bound;
	case LIMIT_LESS:
		return value < bound;
	case LIMIT_EQUAL:
		return value == bound;
	case LIMIT_MORE:
		return value > bound;
	case LIMIT_AT_LEAST:
		break;
	}
	return value >= bound;
}
