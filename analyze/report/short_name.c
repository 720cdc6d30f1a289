/* SPDX-License-Identifier: MIT */
#include "short_name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "width.h"

/* Replaces the contents of the widest <...> by an ellipsis. False: there is none that is longer than that. */
static bool shorten_template(char *text, const char *ellipsis)
{
	char *from = NULL, *to = NULL, *open = NULL;
	int depth = 0;
	for (char *c = text; *c; c++) {
		if (*c == '<' && depth++ == 0)
			open = c + 1;
		else if (*c == '>' && depth > 0 && --depth == 0 && (!from || c - open > to - from)) {
			from = open;
			to = c;
		}
	}
	const size_t n = strlen(ellipsis);
	if (!from || (size_t)(to - from) <= n)
		return false;
	width_replace(from, to, ellipsis);
	return true;
}

/* Makes Type::function of Rust's "<Type as Trait>::function" and "<Type>::function". */
static void drop_trait(char *text)
{
	char *as = NULL;
	int depth = 0;
	if (*text != '<')
		return;
	for (char *c = text; *c; c++) {
		depth += *c == '<';
		if (depth == 1 && !as && strncmp(c, " as ", 4) == 0)
			as = c;
		if (*c != '>' || c[-1] == '-' || --depth > 0)
			continue;
		if (strncmp(c, ">::", 3) != 0)
			return;
		char *const end = as ? as : c;
		memmove(end, c + 1, strlen(c + 1) + 1);
		memmove(text, text + 1, strlen(text + 1) + 1);
		return;
	}
}

/* The parameters' parenthesis, not that of a scope, a lambda or operator(). NULL: there is none. */
static char *find_parameters(char *text)
{
	static const char anonymous[] = "(anonymous namespace)", call[] = "operator()";
	int depth = 0;
	for (char *c = text; *c; c++) {
		if (strncmp(c, call, sizeof(call) - 1) == 0)
			c += sizeof(call) - 2;
		else if (strncmp(c, anonymous, sizeof(anonymous) - 1) == 0)
			c += sizeof(anonymous) - 2;
		else if (*c == '(' && depth == 0)
			return c;
		depth += (*c == '{') - (*c == '}');
	}
	return NULL;
}

/* Of "[libfoo.so+0x1234]" the offset says most. False: it is no such name, or there is no room for more than the offset. */
static bool shorten_library(char *text, unsigned most, const char *ellipsis)
{
	char offset[24], *plus = strrchr(text, '+');
	if (*text != '[' || !plus || strncmp(plus, "+0x", 3) != 0 || strlen(plus) >= sizeof(offset))
		return false;
	strcpy(offset, plus);
	const unsigned width = width_of(offset);
	if (most < width + width_of(ellipsis) + 2)
		return false;
	*plus = '\0';
	strcat(width_cut_right(text, most - width, ellipsis), offset);
	return true;
}

char *short_name(char *text, unsigned most, const char *ellipsis)
{
	if (width_of(text) > most && shorten_library(text, most, ellipsis))
		return text;
	if (width_of(text) > most)
		drop_trait(text);
	while (width_of(text) > most && shorten_template(text, ellipsis)) {
	}
	char *parenthesis = width_of(text) > most ? find_parameters(text) : NULL;
	if (parenthesis && parenthesis != text)
		*parenthesis = '\0';
	return width_cut_right(text, most, ellipsis);
}

const char *short_name_in_sentence(char to[SENTENCE_NAME_SIZE], const char *function)
{
	char *copy = strdup(function);
	if (copy)
		short_name(copy, SENTENCE_NAME, "...");
	snprintf(to, SENTENCE_NAME_SIZE, "%s", copy ? copy : function);
	free(copy);
	return to;
}
