/* SPDX-License-Identifier: MIT */
#include "statement.h"

#include <string.h>

/* Lines around that a statement may have. */
enum { LINES_AROUND = 12 };

/* Longer ones are no statements of people. */
enum { TOKENS_MOST = 400 };

bool token_is(const struct token *token, const char *text)
{
	return strlen(text) == token->n && memcmp(token->text, text, token->n) == 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool token_is_word(const struct token *token)
{
	return is_letter(*token->text);
}

/* ---- Tokens ---- */

/* Operators of two characters that must not be taken for others. */
static bool is_pair(const char *at)
{
	static const char pairs[][3] = { "::", "->", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=",
					 "*=", "/=", "|=", "&=", "^=", "%=", "++", "--", "<<" };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		if (at[0] == pairs[i][0] && at[1] == pairs[i][1])
			return true;
	}
	return false;
}

static const char *behind_comment(const char *at, const char *end, bool block)
{
	while (at < end && !(block ? at + 1 < end && at[0] == '*' && at[1] == '/' : *at == '\n'))
		at++;
	return block && at < end ? at + 2 : at;
}

static const char *behind_quote(const char *at, const char *end)
{
	const char quote = *at++;

	while (at < end && *at != quote && *at != '\n')
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	return at < end ? at + 1 : end;
}

/* A directive, with the lines that continue it. */
static const char *behind_directive(const char *at, const char *end)
{
	while (at < end && *at != '\n')
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	return at < end ? at : end;
}

static const char *token_end(const char *at, const char *end)
{
	if (*at == '"' || *at == '\'')
		return behind_quote(at, end);
	if (!is_letter(*at) && !is_digit(*at))
		return at + 1 < end && is_pair(at) ? at + 2 : at + 1;
	while (at < end && (is_letter(*at) || is_digit(*at)))
		at++;
	return at;
}

static int lines_in(const char *from, const char *to)
{
	int n = 0;

	for (; from < to; from++)
		n += *from == '\n';
	return n;
}

/* False: there are too many. */
static bool read_tokens(struct statement *s, const char *at, const char *end, int line)
{
	bool begins = true; /* nothing but spaces is before it in the line */

	s->n = 0;
	while (at < end) {
		const char *from = at;
		const bool space = *at == ' ' || *at == '\t' || *at == '\r' || *at == '\n' || *at == '\f';

		if (space)
			at++;
		else if (*at == '#' && begins)
			at = behind_directive(at, end);
		else if (*at == '/' && at + 1 < end && (at[1] == '*' || at[1] == '/'))
			at = behind_comment(at + 2, end, at[1] == '*');
		else if (s->n == STATEMENT_TOKENS)
			return false;
		else {
			at = token_end(at, end);
			s->tokens[s->n++] = (struct token){ from, (uint32_t)(at - from), line };
		}
		begins = *from == '\n' || (begins && space);
		line += lines_in(from, at);
	}
	return true;
}

static bool read_lines(struct statement *s, const struct source_file *file, int line)
{
	uint32_t first = line > LINES_AROUND ? (uint32_t)line - 1 - LINES_AROUND : 0;
	uint32_t last = (uint32_t)line + LINES_AROUND;
	const char *at;

	if (line <= 0 || (uint32_t)line > file->n_lines)
		return false;
	last = last > file->n_lines ? file->n_lines : last;
	at = file->text + file->starts[first];
	if (file->comment[first])
		at = behind_comment(at, file->text + file->starts[last], true);
	return read_tokens(s, at, file->text + file->starts[last],
			   (int)first + 1 + lines_in(file->text + file->starts[first], at));
}

/* ---- Brackets ---- */

static int depth_of(const struct token *token)
{
	return token->n != 1 ? 0 : strchr("([{", *token->text) ? 1 : strchr(")]}", *token->text) ? -1 : 0;
}

uint32_t tokens_behind(const struct statement *s, uint32_t at, uint32_t end)
{
	int depth = 0;

	for (; at < end; at++) {
		depth += depth_of(&s->tokens[at]);
		if (depth == 0)
			return at + 1;
	}
	return end;
}

/* The same of `<`. */
static uint32_t behind_angle(const struct statement *s, uint32_t at, uint32_t end)
{
	int depth = 0;

	for (; at < end; at++) {
		depth += token_is(&s->tokens[at], "<") - token_is(&s->tokens[at], ">");
		if (depth == 0)
			return at + 1;
		if (token_is(&s->tokens[at], ";"))
			break;
	}
	return end;
}

/* The bracket that the one before `end` closes; `begin`: there is none. */
static uint32_t bracket_before(const struct statement *s, uint32_t begin, uint32_t end)
{
	int depth = 0;

	while (end > begin) {
		depth -= depth_of(&s->tokens[--end]);
		if (depth == 0)
			return end;
	}
	return begin;
}

/* ---- The statement ---- */

static bool ends_statement(const struct token *token)
{
	return token_is(token, ";") || token_is(token, "{") || token_is(token, "}");
}

/* The statements that a line is part of. Empty: the line has no code. */
static struct tokens statements_at(const struct statement *s, int line)
{
	uint32_t begin = 0, end;

	while (begin < s->n && s->tokens[begin].line < line)
		begin++;
	for (end = begin; end < s->n && s->tokens[end].line == line;)
		end++;
	if (begin == end)
		return (struct tokens){ 0, 0 };
	while (begin > 0 && !ends_statement(&s->tokens[begin - 1]))
		begin--;
	while (end < s->n && !ends_statement(&s->tokens[end - 1]))
		end++;
	return (struct tokens){ begin, end };
}

/* ---- What stands before a call ---- */

/* The type of `T *` in [begin, end), without its last star. Empty: it is no pointer. */
static struct tokens pointed_to(const struct statement *s, uint32_t begin, uint32_t end)
{
	while (begin < end && token_is(&s->tokens[end - 1], "const"))
		end--;
	if (begin + 1 < end && token_is(&s->tokens[end - 1], "*"))
		return (struct tokens){ begin, end - 1 };
	return (struct tokens){ 0, 0 };
}

/* Where the cast before `at` begins, if there is one; else `at`. */
static uint32_t read_cast(const struct statement *s, uint32_t begin, uint32_t at, struct allocation *a)
{
	uint32_t open, angle;

	/* static_cast<T *>(malloc(n)) */
	if (at > begin + 3 && token_is(&s->tokens[at - 1], "(") && token_is(&s->tokens[at - 2], ">")) {
		for (angle = at - 2; angle > begin && !token_is(&s->tokens[angle], "<");)
			angle--;
		if (angle > begin && (token_is(&s->tokens[angle - 1], "static_cast") ||
				      token_is(&s->tokens[angle - 1], "reinterpret_cast"))) {
			a->cast = pointed_to(s, angle + 1, at - 2);
			return angle - 1;
		}
	}
	if (at <= begin || !token_is(&s->tokens[at - 1], ")"))
		return at;
	open = bracket_before(s, begin, at);
	if (open + 2 >= at || !token_is_word(&s->tokens[open + 1]))
		return at;
	a->cast = pointed_to(s, open + 1, at - 1);
	return tokens_are(a->cast) ? open : at;
}

/* True: these tokens before a name are a type, so the name is declared here. */
static bool is_declaration(const struct statement *s, uint32_t begin, uint32_t end)
{
	if (begin >= end || !token_is_word(&s->tokens[begin]))
		return false;
	for (uint32_t i = begin; i < end; i++) {
		const struct token *t = &s->tokens[i];

		if (!token_is_word(t) && !token_is(t, "*") && !token_is(t, "::") && !token_is(t, "<") &&
		    !token_is(t, ">") && !token_is(t, ","))
			return false;
	}
	return true;
}

/* Where what is assigned to before `end` begins. */
static uint32_t lvalue_begin(const struct statement *s, uint32_t begin, uint32_t end)
{
	static const char *const stops[] = { ";",  "{", "}", "(", "=",      "&&",
					     "||", "!", "?", ":", "return", "else" };
	uint32_t at = end;

	while (at > begin) {
		const struct token *t = &s->tokens[at - 1];

		if (token_is(t, ")") || token_is(t, "]")) {
			at = bracket_before(s, begin, at);
			/* `if (...) p = ...` */
			if (at > begin && token_is(t, ")") &&
			    (token_is(&s->tokens[at - 1], "if") || token_is(&s->tokens[at - 1], "while") ||
			     token_is(&s->tokens[at - 1], "for")))
				return (uint32_t)(t - s->tokens) + 1;
			continue;
		}
		for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++) {
			if (token_is(t, stops[i]))
				return at;
		}
		at--;
	}
	return at;
}

static uint32_t skip_storage(const struct statement *s, uint32_t begin, uint32_t end)
{
	while (begin < end &&
	       (token_is(&s->tokens[begin], "static") || token_is(&s->tokens[begin], "register") ||
		token_is(&s->tokens[begin], "extern")))
		begin++;
	return begin;
}

/* What gets the result of a call whose cast, or name, begins at `at`. */
static void read_target(const struct statement *s, uint32_t begin, uint32_t at, struct allocation *a)
{
	uint32_t from, name;

	while (at > begin && token_is(&s->tokens[at - 1], "("))
		at--;
	if (at < begin + 2 || !token_is(&s->tokens[at - 1], "="))
		return;
	name = a->name = at - 2;
	from = skip_storage(s, lvalue_begin(s, begin, at - 1), at - 1);
	/* A declarator behind a comma has a type that is further away. */
	for (uint32_t i = from; i < name; i++) {
		if (token_is(&s->tokens[i], ",") && !token_is(&s->tokens[from], "std"))
			return;
	}
	if (token_is_word(&s->tokens[name]) && is_declaration(s, from, name))
		a->declared = pointed_to(s, from, name);
	else
		a->lvalue = (struct tokens){ from, at - 1 };
	if (tokens_are(a->declared) && token_is(&s->tokens[from], "auto"))
		a->declared = (struct tokens){ 0, 0 };
}

/* ---- What stands in a call ---- */

static bool same_tokens(const struct statement *s, struct tokens a, struct tokens b)
{
	if (a.end - a.begin != b.end - b.begin)
		return false;
	for (uint32_t i = 0; i < a.end - a.begin; i++) {
		const struct token *x = &s->tokens[a.begin + i], *y = &s->tokens[b.begin + i];

		if (x->n != y->n || memcmp(x->text, y->text, x->n) != 0)
			return false;
	}
	return true;
}

/* The operand of the sizeof at `at`. */
static struct tokens operand_at(const struct statement *s, uint32_t at, uint32_t end)
{
	uint32_t from = at + 1, to = from;

	if (from < end && token_is(&s->tokens[from], "("))
		return (struct tokens){ from + 1, tokens_behind(s, from, end) - 1 };
	while (to < end && token_is(&s->tokens[to], "*"))
		to++;
	while (to < end && (token_is_word(&s->tokens[to]) || token_is(&s->tokens[to], "->") ||
			    token_is(&s->tokens[to], ".")))
		to++;
	return (struct tokens){ from, to };
}

static bool is_sum(const struct token *token)
{
	return token_is(token, "+") || token_is(token, "-");
}

/* True: a plus or minus concerns the operand at `at`: it stands in the same argument, within brackets around both. */
static bool is_added_to(const struct statement *s, uint32_t begin, uint32_t end, uint32_t at)
{
	bool other = false; /* another argument */

	for (uint32_t i = at; i > begin;) {
		const int depth = depth_of(&s->tokens[i - 1]);

		if (depth < 0) {
			i = bracket_before(s, begin, i);
			continue;
		}
		other = depth == 0 && (other || token_is(&s->tokens[i - 1], ","));
		if (!other && is_sum(&s->tokens[i - 1]))
			return true;
		i--;
	}
	other = false;
	for (uint32_t i = at + 1; i < end;) {
		const int depth = depth_of(&s->tokens[i]);

		other = depth >= 0 && (other || token_is(&s->tokens[i], ","));
		if (!other && is_sum(&s->tokens[i]))
			return true;
		i = depth > 0 ? tokens_behind(s, i, end) : i + 1;
	}
	return false;
}

/* A star that is neither part of the operand nor takes what a pointer points to. */
static bool is_multiplied(const struct statement *s, uint32_t begin, uint32_t end, struct tokens operand)
{
	for (uint32_t i = begin; i < end; i++) {
		if (i >= operand.begin && i < operand.end)
			continue;
		if (token_is(&s->tokens[i], "*") && i > begin &&
		    (token_is(&s->tokens[i - 1], ")") || !depth_of(&s->tokens[i - 1])))
			return true;
	}
	return false;
}

static void read_arguments(const struct statement *s, uint32_t begin, uint32_t end, struct allocation *a)
{
	for (uint32_t i = begin; i < end && a->n_sizes < SIZEOFS_MOST; i++) {
		struct tokens operand;

		if (!token_is(&s->tokens[i], "sizeof"))
			continue;
		operand = operand_at(s, i, end);
		a->sizes[a->n_sizes++] = operand;
		a->more |= is_added_to(s, begin, end, i);
		a->times |= is_multiplied(s, begin, end, operand);
		if (a->sized && !same_tokens(s, a->size, operand))
			operand = (struct tokens){ 0, 0 };
		a->size = operand;
		a->sized = true;
	}
	if (a->n_sizes == SIZEOFS_MOST)
		a->size = (struct tokens){ 0, 0 };
}

/* Macros whose argument is a type: its number. -1: none such. */
static int type_argument(const struct token *name)
{
	static const struct {
		const char *name;
		int argument;
	} macros[] = { { "g_new", 0 },      { "g_new0", 0 },      { "g_try_new", 0 },    { "g_try_new0", 0 },
		       { "g_renew", 0 },    { "g_slice_new", 0 }, { "g_slice_new0", 0 }, { "XNEW", 0 },
		       { "XCNEW", 0 },      { "XNEWVEC", 0 },     { "XCNEWVEC", 0 },     { "XRESIZEVEC", 0 },
		       { "PyMem_New", 0 },  { "PyMem_NEW", 0 },   { "PyMem_RESIZE", 1 }, { "talloc", 1 },
		       { "talloc_zero", 1 } };

	for (size_t i = 0; i < sizeof(macros) / sizeof(*macros); i++) {
		if (token_is(name, macros[i].name))
			return macros[i].argument;
	}
	return -1;
}

static struct tokens argument_at(const struct statement *s, uint32_t begin, uint32_t end, int number)
{
	uint32_t from = begin;

	for (uint32_t i = begin; i<end; i = depth_of(&s->tokens[i])> 0 ? tokens_behind(s, i, end) : i + 1) {
		if (!token_is(&s->tokens[i], ","))
			continue;
		if (number-- == 0)
			return (struct tokens){ from, i };
		from = i + 1;
	}
	return number == 0 ? (struct tokens){ from, end } : (struct tokens){ 0, 0 };
}

/* ---- Calls ---- */

static struct allocation *add_call(struct statement *s)
{
	if (s->n_calls == STATEMENT_CALLS)
		return NULL;
	s->calls[s->n_calls] = (struct allocation){ .array = false };
	return &s->calls[s->n_calls++];
}

/* Before a name, what it is a member of: `a->b.f`. */
static uint32_t member_begin(const struct statement *s, uint32_t begin, uint32_t at)
{
	while (at > begin + 1 &&
	       (token_is(&s->tokens[at - 1], "->") || token_is(&s->tokens[at - 1], ".") ||
		token_is(&s->tokens[at - 1], "::")) &&
	       token_is_word(&s->tokens[at - 2]))
		at -= 2;
	return at;
}

static bool read_call(struct statement *s, struct tokens all, uint32_t at)
{
	struct allocation *a = add_call(s);
	const uint32_t behind = tokens_behind(s, at + 1, all.end);
	const int type = type_argument(&s->tokens[at]);

	if (!a)
		return false;
	if (type >= 0) {
		a->type = argument_at(s, at + 2, behind - 1, type);
		a->array = true;
		return true;
	}
	read_arguments(s, at + 2, behind - 1, a);
	read_target(s, all.begin, read_cast(s, all.begin, member_begin(s, all.begin, at), a), a);
	return true;
}

/* The type behind `new`. */
static bool read_new(struct statement *s, struct tokens all, uint32_t at)
{
	struct allocation *a = add_call(s);
	uint32_t to;

	if (!a)
		return false;
	at++;
	if (at < all.end && token_is(&s->tokens[at], "("))
		at = tokens_behind(s, at, all.end); /* placement */
	for (to = at; to < all.end;) {
		const struct token *t = &s->tokens[to];

		if (token_is(t, "<") && to > at)
			to = behind_angle(s, to, all.end);
		else if (token_is_word(t) || token_is(t, "::") || token_is(t, "*"))
			to++;
		else
			break;
	}
	a->type = (struct tokens){ at, to };
	a->array = to < all.end && token_is(&s->tokens[to], "[");
	return true;
}

bool statement_read(struct statement *s, const struct source_file *file, int line, const char *function)
{
	struct tokens all;

	s->n_calls = 0;
	if (!read_lines(s, file, line))
		return false;
	all = statements_at(s, line);
	if (all.end - all.begin > TOKENS_MOST)
		return false;
	for (uint32_t i = all.begin; i + 1 < all.end; i++) {
		const struct token *t = &s->tokens[i];
		bool fine = true;

		if (!function && token_is(t, "new"))
			fine = read_new(s, all, i);
		else if (function && token_is(&s->tokens[i + 1], "(") &&
			 (token_is(t, function) || type_argument(t) >= 0))
			fine = read_call(s, all, i);
		if (!fine)
			return false;
	}
	return s->n_calls > 0;
}

/* ---- Buffers of bytes ---- */

/* Lines behind an allocation that are looked at. */
enum { LINES_BEHIND = 80 };

static bool is_of_bytes(const struct statement *s, struct tokens type)
{
	static const char *const bytes[] = { "char",  "void",     "const", "unsigned", "signed", "uint8_t",
					     "u8",    "Byte",     "uchar", "guchar",   "gchar",  "xmlChar",
					     "Bytef", "volatile", "std",   "::",       "byte",   "int8_t" };

	for (uint32_t i = type.begin; i < type.end; i++) {
		bool known = false;

		for (size_t k = 0; k < sizeof(bytes) / sizeof(*bytes); k++)
			known |= token_is(&s->tokens[i], bytes[k]);
		if (!known)
			return false;
	}
	return true;
}

/* A cast of what ends with the name at `at`. */
static bool is_cast_to_object(const struct statement *s, uint32_t at)
{
	struct allocation cast = { .array = false };

	at = member_begin(s, 0, at);
	while (at > 0 && (token_is(&s->tokens[at - 1], "(") || token_is(&s->tokens[at - 1], "&")))
		at--;
	read_cast(s, 0, at, &cast);
	return tokens_are(cast.cast) && !is_of_bytes(s, cast.cast);
}

bool statement_casts_later(struct statement *s, const struct source_file *file, int line,
			   const struct token *name)
{
	const struct token wanted = *name;
	uint32_t last = (uint32_t)line + LINES_BEHIND;

	last = last > file->n_lines ? file->n_lines : last;
	if (!read_tokens(s, file->text + file->starts[line - 1], file->text + file->starts[last], line))
		return true;
	for (uint32_t i = 1; i < s->n; i++) {
		const struct token *t = &s->tokens[i];

		if (token_is(t, "}") && t->text[-1] == '\n')
			break;
		if (t->n == wanted.n && memcmp(t->text, wanted.text, t->n) == 0 && is_cast_to_object(s, i))
			return true;
	}
	return false;
}
