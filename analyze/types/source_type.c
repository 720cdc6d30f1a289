/* SPDX-License-Identifier: MIT */
#include "source_type.h"

#include <stdlib.h>
#include <string.h>

#include "type_name.h"

enum { NAME_MOST = 400, STARS_MOST = 4, NESTING_MOST = 16 };

static const struct source_type unknown = { TYPE_NONE, 0 };

struct source_type source_type_target(const struct source_place *p, struct source_type type)
{
	if (type.type == TYPE_NONE)
		return unknown;
	if (type.stars > 0)
		return (struct source_type){ type.type, type.stars - 1 };
	return (struct source_type){ type_info_target(p->info, type.type), 0 };
}

/* A type's name from words; `name` has NAME_MOST bytes. 0: too long. */
static size_t join(const struct statement *s, struct tokens tokens, char *name)
{
	size_t n = 0;

	for (uint32_t i = tokens.begin; i < tokens.end; i++) {
		const struct token *t = &s->tokens[i];

		if (t->n + n + 2 > NAME_MOST)
			return 0;
		if (n && token_is_word(t) && i > tokens.begin && token_is_word(t - 1))
			name[n++] = ' ';
		memcpy(name + n, t->text, t->n);
		n += t->n;
	}
	return n;
}

struct source_type source_type_named(const struct source_place *p, const struct statement *s,
				     struct tokens tokens)
{
	struct source_type type = unknown;
	char name[NAME_MOST], *canonical;
	size_t n;

	while (tokens_are(tokens) &&
	       (token_is(&s->tokens[tokens.end - 1], "*") || token_is(&s->tokens[tokens.end - 1], "const"))) {
		type.stars += token_is(&s->tokens[tokens.end - 1], "*");
		tokens.end--;
	}
	while (tokens_are(tokens) &&
	       (token_is(&s->tokens[tokens.begin], "const") || token_is(&s->tokens[tokens.begin], "::") ||
		token_is(&s->tokens[tokens.begin], "volatile")))
		tokens.begin++;
	n = tokens_are(tokens) && token_is_word(&s->tokens[tokens.begin]) ? join(s, tokens, name) : 0;
	canonical = n && type.stars <= STARS_MOST ? type_name_canonical(name, n) : NULL;
	if (!canonical)
		return unknown;
	type.type = type_info_argument(p->info, &p->place, canonical);
	if (type.type == TYPE_NONE)
		type.type = type_info_named(p->info, &p->place, canonical, strlen(canonical));
	free(canonical);
	return type.type == TYPE_NONE ? unknown : type;
}

/* ---- Expressions ---- */

/* A member behind `.` or `->`; references are looked through. */
static struct source_type member_of(const struct source_place *p, struct source_type type,
				    const struct token *operator, const struct token * name)
{
	if (token_is(operator, "->"))
		type = source_type_target(p, type);
	if (type.type == TYPE_NONE || type.stars > 0)
		return unknown;
	if (type_info_at(p->info, type.type)->form == TYPE_POINTER)
		type.type = type_info_target(p->info, type.type);
	if (type.type == TYPE_NONE)
		return unknown;
	return (struct source_type){ type_info_member(p->info, type.type, name->text, name->n), 0 };
}

static struct source_type expression(const struct source_place *p, const struct statement *s,
				     struct tokens tokens, int depth);

/* A variable, or an expression in brackets; *at is behind it. */
static struct source_type primary(const struct source_place *p, const struct statement *s,
				  struct tokens tokens, uint32_t *at, int depth)
{
	const struct token *t = &s->tokens[tokens.begin];

	*at = tokens.begin + 1;
	if (token_is_word(t))
		return (struct source_type){ type_info_variable(p->info, &p->place, t->text, t->n, p->line),
					     0 };
	if (!token_is(t, "("))
		return unknown;
	*at = tokens_behind(s, tokens.begin, tokens.end);
	return expression(p, s, (struct tokens){ tokens.begin + 1, *at - 1 }, depth + 1);
}

static struct source_type expression(const struct source_place *p, const struct statement *s,
				     struct tokens tokens, int depth)
{
	struct source_type type;
	uint32_t at;

	if (!tokens_are(tokens) || depth > NESTING_MOST)
		return unknown;
	if (token_is(&s->tokens[tokens.begin], "*"))
		return source_type_target(
			p, expression(p, s, (struct tokens){ tokens.begin + 1, tokens.end }, depth + 1));
	type = primary(p, s, tokens, &at, depth);
	while (type.type != TYPE_NONE && at < tokens.end) {
		const struct token *t = &s->tokens[at];

		if (token_is(t, "[")) {
			at = tokens_behind(s, at, tokens.end);
			type = source_type_target(p, type);
		} else if ((token_is(t, "->") || token_is(t, ".")) && at + 1 < tokens.end &&
			   token_is_word(t + 1)) {
			type = member_of(p, type, t, t + 1);
			at += 2;
		} else {
			return unknown;
		}
	}
	return type;
}

struct source_type source_type_of(const struct source_place *p, const struct statement *s,
				  struct tokens tokens)
{
	return expression(p, s, tokens, 0);
}

struct source_type source_type_measured(const struct source_place *p, const struct statement *s,
					struct tokens tokens)
{
	const struct source_type type = source_type_named(p, s, tokens);

	return type.type != TYPE_NONE ? type : source_type_of(p, s, tokens);
}
