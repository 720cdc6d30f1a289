/* SPDX-License-Identifier: MIT */
/*
 * The words of a C or C++ statement that allocates, as far as they say of what type: `T *p = malloc(n * sizeof(T))`,
 * `p = (T *)f(...)`, `new T(...)`, `g_new(T, n)`. It is no parser: what looks otherwise says nothing. Sources are
 * untrusted, and may be others than those that were compiled.
 */
#ifndef ANALYZE_STATEMENT_H
#define ANALYZE_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source_files.h"

struct token {
	const char *text;
	uint32_t n;
	int line;
};

/* Tokens [begin, end) of a statement. */
struct tokens {
	uint32_t begin, end;
};

static inline bool tokens_are(struct tokens tokens)
{
	return tokens.begin < tokens.end;
}

/* SIZEOFS_MOST: in a statement of people. */
enum { STATEMENT_TOKENS = 2000, STATEMENT_CALLS = 8, SIZEOFS_MOST = 4 };

/* What stands around one call that allocates; tokens that are not there are empty. */
struct allocation {
	struct tokens type;                /* `T` of `new T` and of `g_new(T, n)` */
	bool array;                        /* `new T[n]` and `g_new` */
	struct tokens size;                /* the only operand of sizeof in the arguments, without brackets */
	struct tokens sizes[SIZEOFS_MOST]; /* all of them, if there are several */
	uint32_t n_sizes;
	bool times;             /* something is multiplied with it */
	bool more;              /* something is added to what has the sizeof, so more than such objects */
	struct tokens cast;     /* type before the `*` that ends a cast of the result */
	uint32_t name;          /* of that variable */
	struct tokens declared; /* type before the name of the variable that gets the result */
	struct tokens lvalue;   /* else what gets the result */
	bool sized;             /* the arguments have any sizeof */
};

struct statement {
	struct token tokens[STATEMENT_TOKENS];
	uint32_t n;
	struct allocation calls[STATEMENT_CALLS];
	uint32_t n_calls;
};

/*
 * Reads the statements at a line. `function`: the name of the function that is called there, NULL: by `new`. False: the
 * line has no such call, or too many.
 */
bool statement_read(struct statement *statement, const struct source_file *file, int line,
		    const char *function);

/*
 * True: behind `line` the function casts what `name` names to a pointer to something else than bytes, so it is no buffer of
 * bytes. Overwrites the statement's tokens; `name` is copied.
 */
bool statement_casts_later(struct statement *statement, const struct source_file *file, int line,
			   const struct token *name);

bool token_is(const struct token *token, const char *text);
bool token_is_word(const struct token *token);

/* The token behind the bracket that closes the one at `at`; `end`: none does. */
uint32_t tokens_behind(const struct statement *statement, uint32_t at, uint32_t end);

#endif
