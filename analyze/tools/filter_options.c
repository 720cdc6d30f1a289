/* SPDX-License-Identifier: MIT */
#include "filter_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "number.h"
#include "words.h"

enum { KEY_THREAD = 0x5000, KEY_MODULE, KEY_FUNCTION, KEY_SIZE, KEY_LIFETIME };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Only some blocks (repeatable; several of a sort: any of them):", FILTER_GROUP },
	{ "thread", KEY_THREAD, "TID|NAME", 0, "allocated by this thread", FILTER_GROUP },
	{ "module", KEY_MODULE, "PATTERN", 0, "from stacks with such a program or library", FILTER_GROUP },
	{ "function", KEY_FUNCTION, "PATTERN", 0, "from stacks with such a function, such as 'Cache::*'",
	  FILTER_GROUP },
	{ "size", KEY_SIZE, "MIN-MAX", 0, "of so many bytes, as 1k-4k, 1m-, -64 or 24", FILTER_GROUP },
	{ "lifetime", KEY_LIFETIME, "MIN-MAX", 0, "that lived so long, as 1s-, -10ms, 1-5s or -100calls",
	  FILTER_GROUP },
	{ 0 },
};

void filter_options_finish(struct filter_options *o)
{
	free(o->threads);
	free(o->modules);
	free(o->functions);
	free(o->sizes);
	free(o->lifetimes);
	for (size_t i = 0; i < o->n_words; i++)
		free(o->words[i]);
	free(o->words);
	*o = (struct filter_options){ 0 };
}

bool filter_options_note(struct filter_options *o, const char *name, const char *value)
{
	char **words = reallocarray(o->words, o->n_words + 1, sizeof(*words));
	if (!words)
		return false;
	o->words = words;
	if (asprintf(&words[o->n_words], "%s=%s", name, value) < 0)
		return false;
	o->n_words++;
	return true;
}

/* ---- Values ---- */

/*
 * A number and a unit as coreutils have them: k or KiB is 1024, kB 1000; only a number with a unit may have a fraction.
 * *rest is what follows. False: no such number, or above 1.8e19.
 */
static bool read_size(const char *text, const char **rest, uint64_t *size)
{
	static const char units[] = "kmgt";
	const size_t n = strspn(text, "0123456789.");
	const bool fraction = memchr(text, '.', n);
	char *end;
	if (n == 0 || n > 64 || strspn(text, ".") == n)
		return false;
	double bytes = strtod(text, &end);
	if (end != text + n)
		return false;
	const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
	const bool decimal = unit && end[1] == 'B';
	for (const char *u = units; unit && u <= unit; u++)
		bytes *= decimal ? 1000 : 1024;
	if (bytes >= 1.8e19 || (fraction && !unit))
		return false;
	*size = unit ? (uint64_t)bytes : strtoull(text, NULL, 10);
	end += unit != NULL;
	end += unit && end[0] == 'i' && end[1] == 'B';
	end += *end == 'B';
	*rest = end;
	return true;
}

bool filter_parse_size(const char *text, struct block_range *range)
{
	*range = (struct block_range){ .least = 0, .most = UINT64_MAX };
	const bool least = *text != '-';
	if (least && !read_size(text, &text, &range->least))
		return false;
	if (least && *text == '\0') {
		range->most = range->least;
		return true;
	}
	if (*text++ != '-' || (!least && !*text))
		return false;
	if (*text && (!read_size(text, &text, &range->most) || *text))
		return false;
	return range->least <= range->most;
}

/* The unit of a life: what follows the digits. */
static const char *unit_of(const char *text)
{
	return text + strspn(text, "0123456789.");
}

/* Of `n` bytes of text. */
static bool is_calls(const char *text, size_t n)
{
	const char *unit = unit_of(text);
	const size_t length = text + n > unit ? (size_t)(text + n - unit) : 0;
	return (length == 4 || length == 5) && strncmp(unit, "calls", length) == 0;
}

/* `n` bytes of text, with a unit behind them. */
static bool read_life(const char *text, size_t n, const char *unit, uint64_t *life)
{
	char word[96];
	if (snprintf(word, sizeof(word), "%.*s%s", (int)n, text, unit) >= (int)sizeof(word))
		return false;
	if (!is_calls(word, strlen(word)))
		return n && duration_parse(word, life);
	word[unit_of(word) - word] = '\0';
	return number_natural(word, INT64_MAX, life);
}

bool filter_parse_lifetime(const char *text, struct block_range *range)
{
	const size_t n = strcspn(text, "-");
	const char *most = text[n] ? text + n + 1 : text;
	*range = (struct block_range){
		.least = 0,
		.most = UINT64_MAX,
		.calls = *most ? is_calls(most, strlen(most)) : is_calls(text, n),
	};
	const bool bare = text + n == unit_of(text);
	if ((n == 0 && !*most) || n > 64 || strlen(most) > 64 || (!text[n] && !range->calls))
		return false;
	if (n && !bare && range->calls != is_calls(text, n))
		return false;
	if (n && !read_life(text, n, bare && *most ? unit_of(most) : "", &range->least))
		return false;
	if (*most && !read_life(most, strlen(most), "", &range->most))
		return false;
	return range->least <= range->most;
}

/* ---- The parser ---- */

static error_t add_word(const char ***words, const char *const **shown, size_t *n, const char *word)
{
	const error_t error = words_append(words, n, word);
	*shown = *words;
	return error;
}

static error_t add_range(struct block_range **ranges, const struct block_range **shown, size_t *n,
			 const struct block_range *range)
{
	struct block_range *more = reallocarray(*ranges, *n + 1, sizeof(*more));
	if (!more)
		return ENOMEM;
	more[(*n)++] = *range;
	*shown = *ranges = more;
	return 0;
}

/* Looks like a number, and is none of a thread. */
static bool is_bad_number(const char *value)
{
	uint64_t tid;
	return !value[strspn(value, "-0123456789")] && !number_natural(value, UINT32_MAX, &tid);
}

static error_t add_value(struct filter_options *o, struct argp_state *state, int key, const char *value)
{
	struct block_filter_query *q = &o->query;
	struct block_range range;
	switch (key) {
	case KEY_THREAD:
		if (is_bad_number(value))
			argp_error(state, "--thread=%s: should be a thread's number or name", value);
		return add_word(&o->threads, &q->threads, &q->n_threads, value);
	case KEY_MODULE:
		return add_word(&o->modules, &q->modules, &q->n_modules, value);
	case KEY_FUNCTION:
		return add_word(&o->functions, &q->functions, &q->n_functions, value);
	case KEY_SIZE:
		if (!filter_parse_size(value, &range))
			argp_error(state, "--size=%s: should be bytes such as 1k-4k, 1m-, -64 or 24", value);
		return add_range(&o->sizes, &q->sizes, &q->n_sizes, &range);
	case KEY_LIFETIME:
		if (!filter_parse_lifetime(value, &range))
			argp_error(state, "--lifetime=%s: should be a range such as 1s-, -10ms or -100calls",
				   value);
		return add_range(&o->lifetimes, &q->lifetimes, &q->n_lifetimes, &range);
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct filter_options *o = state->input;
	static const char *const names[] = { "--thread", "--module", "--function", "--size", "--lifetime" };
	if (key < KEY_THREAD || key > KEY_LIFETIME)
		return ARGP_ERR_UNKNOWN;
	const error_t error = add_value(o, state, key, value);
	if (error)
		return error;
	return filter_options_note(o, names[key - KEY_THREAD], value) ? 0 : ENOMEM;
}

const struct argp filter_argp = { .options = options, .parser = parse_option };
