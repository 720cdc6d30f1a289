/* SPDX-License-Identifier: MIT */
#include "type_name.h"

#include <stdlib.h>
#include <string.h>

/* Nesting of template arguments. */
#define DEPTH_MAX 64
#define ARGUMENTS_MAX 64

bool text_part_is(struct text_part part, const char *text)
{
	return part.text && strlen(text) == part.n && memcmp(part.text, text, part.n) == 0;
}

static bool part_begins(struct text_part part, const char *text)
{
	const size_t n = strlen(text);

	return part.n >= n && memcmp(part.text, text, n) == 0;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
	       c == '$' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- One spelling ---- */

/* `out` never gets longer than `capacity`, which is twice the input and some. */
struct writer {
	const char *at, *end;
	char *out;
	size_t n, capacity;
	int depth;
	bool failed;
};

static void put(struct writer *w, const char *text, size_t n)
{
	if (n > w->capacity - w->n) {
		w->failed = true;
		return;
	}
	memcpy(w->out + w->n, text, n);
	w->n += n;
}

/* A word, apart from one before it. */
static void put_word(struct writer *w, const char *text, size_t n)
{
	if (w->n && is_word(w->out[w->n - 1]))
		put(w, " ", 1);
	put(w, text, n);
}

static void skip_spaces(struct writer *w)
{
	while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\n'))
		w->at++;
}

/* The word that begins here; no text: another character does. */
static struct text_part word_here(const struct writer *w)
{
	const char *to = w->at;

	while (to < w->end && is_word(*to))
		to++;
	return (struct text_part){ w->at, (size_t)(to - w->at) };
}

static bool word_is_one_of(struct text_part word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text_part_is(word, words[i]))
			return true;
	}
	return false;
}

#define IS_ONE_OF(word, words) word_is_one_of(word, words, sizeof(words) / sizeof(*(words)))

/* The words that a built-in type of several is made of. */
struct integer {
	int n;
	bool is_unsigned, is_signed, is_short, is_char, is_int, is_double;
	int longs;
};

static bool integer_add(struct integer *integer, struct text_part word)
{
	if (text_part_is(word, "unsigned"))
		integer->is_unsigned = true;
	else if (text_part_is(word, "signed"))
		integer->is_signed = true;
	else if (text_part_is(word, "short"))
		integer->is_short = true;
	else if (text_part_is(word, "long"))
		integer->longs += integer->longs < 2;
	else if (text_part_is(word, "char"))
		integer->is_char = true;
	else if (text_part_is(word, "int"))
		integer->is_int = true;
	else if (text_part_is(word, "double"))
		integer->is_double = true;
	else
		return false;
	integer->n++;
	return true;
}

static void put_integer(struct writer *w, const struct integer *i)
{
	static const char *const longs[] = { "int", "long", "long long" };
	const char *base = i->is_char ? "char" : i->is_short ? "short" : longs[i->longs];

	if (i->is_double) {
		if (i->longs)
			put_word(w, "long", 4);
		put_word(w, "double", 6);
		return;
	}
	if (i->is_unsigned)
		put_word(w, "unsigned", 8);
	else if (i->is_signed && i->is_char)
		put_word(w, "signed", 6);
	put_word(w, base, strlen(base));
}

static void write_type(struct writer *w);

/* Arguments that are the default of the C++ and Rust libraries' templates, behind the first. */
static bool is_default(struct text_part argument)
{
	static const char *const begins[] = {
		"std::allocator<", "std::char_traits<", "std::less<",
		"std::hash<",      "std::equal_to<",    "std::default_delete<"
	};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		if (part_begins(argument, begins[i]))
			return true;
	}
	return text_part_is(argument, "alloc::alloc::Global") ||
	       text_part_is(argument, "std::hash::random::RandomState") ||
	       text_part_is(argument, "std::collections::hash::map::RandomState");
}

/* From behind '<' to behind '>'. */
static void write_arguments(struct writer *w)
{
	size_t n = 0;

	put(w, "<", 1);
	while (!w->failed) {
		const size_t start = w->n;

		if (n++)
			put(w, ", ", 2);
		const size_t text = w->n;

		write_type(w);
		if (n > 1 && is_default((struct text_part){ w->out + text, w->n - text }))
			w->n = start;
		skip_spaces(w);
		if (w->at < w->end && *w->at == ',') {
			w->at++;
			continue;
		}
		break;
	}
	if (w->at < w->end && *w->at == '>')
		w->at++;
	else
		w->failed = true;
	put(w, ">", 1);
}

/* A number without the suffix that says its type. */
static void put_number(struct writer *w, struct text_part word)
{
	size_t n = word.n;

	while (n > 1 && strchr("uUlL", word.text[n - 1]) && !part_begins(word, "0x"))
		n--;
	put_word(w, word.text, n);
}

static bool ends_with(const struct writer *w, const char *text)
{
	const size_t n = strlen(text);

	return w->n >= n && memcmp(w->out + w->n - n, text, n) == 0;
}

/* A word that is not part of a built-in type. */
static void write_plain_word(struct writer *w, struct text_part word)
{
	static const char *const dropped[] = { "struct", "class", "union", "enum", "typename" };
	static const char *const inlined[] = { "__cxx11", "__1", "__ndk1" };

	w->at += word.n;
	if (is_digit(*word.text)) {
		put_number(w, word);
		return;
	}
	skip_spaces(w);
	if (IS_ONE_OF(word, dropped) && w->at < w->end && (is_word(*w->at) || *w->at == ':'))
		return;
	if (IS_ONE_OF(word, inlined) && ends_with(w, "std::") && w->end - w->at >= 2 &&
	    memcmp(w->at, "::", 2) == 0) {
		w->at += 2;
		return;
	}
	put_word(w, word.text, word.n);
}

/* `[abi:cxx11]` */
static bool skip_tag(struct writer *w)
{
	const char *close;

	if (w->end - w->at < 5 || memcmp(w->at, "[abi:", 5) != 0)
		return false;
	close = memchr(w->at, ']', (size_t)(w->end - w->at));
	w->at = close ? close + 1 : w->end;
	return true;
}

/* All up to the closing bracket, as it stands but for spaces. */
static void write_group(struct writer *w, char close)
{
	put(w, w->at++, 1);
	while (!w->failed && w->at < w->end && *w->at != close) {
		const char *before = w->at;

		write_type(w);
		if (w->at < w->end && *w->at == ',') {
			put(w, ", ", 2);
			w->at++;
		} else if (w->at == before) {
			put(w, w->at++, 1);
		}
	}
	if (w->at < w->end)
		put(w, w->at++, 1);
	else
		w->failed = true;
}

struct qualifiers {
	bool is_const, is_volatile;
};

static bool qualifiers_add(struct qualifiers *q, struct text_part word)
{
	if (text_part_is(word, "const"))
		q->is_const = true;
	else if (text_part_is(word, "volatile"))
		q->is_volatile = true;
	else
		return false;
	return true;
}

/* Behind the core of a type, or a star. */
static void put_qualifiers(struct writer *w, struct qualifiers *q)
{
	if (q->is_const)
		put(w, " const", 6);
	if (q->is_volatile)
		put(w, " volatile", 9);
	*q = (struct qualifiers){ false, false };
}

/* A word of a type: collected if it qualifies or is part of an integer, else written. */
static void write_word(struct writer *w, struct text_part word, struct integer *integer, struct qualifiers *q)
{
	if (qualifiers_add(q, word) || (!ends_with(w, "::") && integer_add(integer, word))) {
		w->at += word.n;
		return;
	}
	if (integer->n) {
		put_integer(w, integer);
		*integer = (struct integer){ 0 };
	}
	write_plain_word(w, word);
}

static void finish_core(struct writer *w, struct integer *integer, struct qualifiers *q)
{
	if (integer->n)
		put_integer(w, integer);
	*integer = (struct integer){ 0 };
	put_qualifiers(w, q);
}

/* Anything but a word. False: the type ends here. */
static bool write_other(struct writer *w, struct integer *integer, struct qualifiers *q)
{
	const char c = *w->at;

	if (c == ',' || c == '>' || c == ')' || c == ']' || c == '}')
		return false;
	if (c == '<' && !integer->n) {
		w->at++;
		write_arguments(w);
		return true;
	}
	if (c == '[' && skip_tag(w))
		return true;
	if (c == ':' && !integer->n) {
		put(w, w->at++, 1);
		return true;
	}
	finish_core(w, integer, q);
	if (c == '(')
		write_group(w, ')');
	else if (c == '[')
		write_group(w, ']');
	else if (c == '{')
		write_group(w, '}');
	else
		put(w, w->at++, 1);
	return true;
}

/* Up to a ',' or a closing bracket, which stays. */
static void write_type(struct writer *w)
{
	struct integer integer = { 0 };
	struct qualifiers q = { false, false };

	if (++w->depth > DEPTH_MAX) {
		w->failed = true;
		return;
	}
	for (skip_spaces(w); w->at < w->end && !w->failed; skip_spaces(w)) {
		const struct text_part word = word_here(w);

		if (word.n)
			write_word(w, word, &integer, &q);
		else if (!write_other(w, &integer, &q))
			break;
	}
	finish_core(w, &integer, &q);
	w->depth--;
}

char *type_name_canonical(const char *text, size_t n)
{
	struct writer w = { .at = text, .end = text + n, .capacity = 2 * n + 32 };

	if (n == 0 || n > TYPE_NAME_MOST || !(w.out = malloc(w.capacity + 1)))
		return NULL;
	write_type(&w);
	if (w.failed || w.at < w.end || w.n == 0) {
		free(w.out);
		return NULL;
	}
	w.out[w.n] = '\0';
	return w.out;
}

/* ---- Arguments ---- */

/* Behind the bracket that closes the one at `at`; NULL: none does. Arrows and operators are no brackets. */
static const char *behind_bracket(const char *at, const char *end)
{
	int depth = 0;

	for (; at < end; at++) {
		if (strchr("<([{", *at) && *at) {
			depth++;
		} else if (*at == '>' && at[-1] == '-') {
			continue;
		} else if (strchr(">)]}", *at) && *at && --depth == 0) {
			return at + 1;
		}
	}
	return NULL;
}

/* The arguments that end a type's name, between the brackets. */
static struct text_part arguments_of(struct text_part type)
{
	const char *end = type.text + type.n;

	if (!type.n || end[-1] != '>')
		return text_part_none();
	for (const char *at = type.text; at < end; at++) {
		const char *close = *at == '<' ? behind_bracket(at, end) : NULL;

		if (close == end)
			return (struct text_part){ at + 1, (size_t)(end - at) - 2 };
		if (close)
			at = close - 1;
		else if (*at == '<')
			break;
	}
	return text_part_none();
}

static struct text_part trimmed(const char *from, const char *to)
{
	while (from < to && *from == ' ')
		from++;
	while (from < to && to[-1] == ' ')
		to--;
	return (struct text_part){ from, (size_t)(to - from) };
}

static struct text_part argument_at(struct text_part list, unsigned i)
{
	const char *from = list.text, *end = list.text + list.n;

	for (const char *at = from; at && at < end; at++) {
		if (strchr("<([{", *at) && *at) {
			const char *close = behind_bracket(at, end);

			if (!close)
				return text_part_none();
			at = close - 1;
		} else if (*at == ',') {
			if (i-- == 0)
				return trimmed(from, at);
			from = at + 1;
		}
	}
	return i == 0 && list.n ? trimmed(from, end) : text_part_none();
}

struct text_part type_name_argument(struct text_part type, unsigned i)
{
	const struct text_part list = arguments_of(type);

	return list.text ? argument_at(list, i) : text_part_none();
}

struct text_part type_name_template(struct text_part type)
{
	const struct text_part list = arguments_of(type);

	return list.text ? trimmed(type.text, list.text - 1) : type;
}

/* ---- Functions ---- */

static bool begins_operator(const char *at, const char *end)
{
	return end - at >= 8 && memcmp(at, "operator", 8) == 0 && (at + 8 == end || !is_word(at[8]));
}

/* Behind the brackets or the plain text of one step; NULL: brackets that do not close. */
static const char *step(const char *at, const char *end)
{
	return strchr("<([{", *at) && *at ? behind_bracket(at, end) : at + 1;
}

static bool is_anonymous(const char *at, const char *end)
{
	static const char anonymous[] = "(anonymous namespace)";

	return (size_t)(end - at) >= sizeof(anonymous) - 1 &&
	       memcmp(at, anonymous, sizeof(anonymous) - 1) == 0;
}

/* A result type in brackets. */
static bool is_behind_decltype(const char *from, const char *at)
{
	const size_t n = (size_t)(at - from);

	return n >= 8 && n <= 9 && memcmp(from, "decltype", 8) == 0;
}

/* The name between result and parameters. */
static struct text_part path_of(const char *name)
{
	const char *from = name, *end = name + strnlen(name, TYPE_NAME_MOST), *at = name;

	while (at && at < end) {
		const bool begins = at == from || at[-1] == ':';

		if (begins && begins_operator(at, end))
			return (struct text_part){ from, (size_t)(at + 8 - from) };
		if (*at == '(' && !is_anonymous(at, end) && !is_behind_decltype(from, at))
			break;
		if (*at == ' ' && !is_behind_decltype(from, at))
			from = at + 1;
		at = step(at, end);
	}
	return at ? (struct text_part){ from, (size_t)(at - from) } : text_part_none();
}

/* Where " as Trait" begins in what stands between brackets; else its end. */
static const char *before_as(const char *from, const char *end)
{
	for (const char *at = from; at && at < end; at = step(at, end)) {
		if (end - at > 4 && memcmp(at, " as ", 4) == 0)
			return at;
	}
	return end;
}

static bool add_part(struct function_path *p, const char *from, const char *to)
{
	const char *open = from;

	while (open < to && *open != '<')
		open++;
	if (p->n == NAME_PARTS || from >= to)
		return from >= to;
	struct name_part *part = &p->parts[p->n++];
	const char *end = open - from > 2 && open[-1] == ':' ? open - 2 : open;

	*part = (struct name_part){ { from, (size_t)(end - from) }, text_part_none(), 0 };
	if (open < to && open > from) {
		const char *close = behind_bracket(open, to);

		if (close)
			part->arguments = (struct text_part){ open + 1, (size_t)(close - open) - 2 };
	}
	part->end = (size_t)(to - p->path.text);
	return true;
}

/* Adds the components of from[0..). False: too many, or no name. */
static bool add_parts(struct function_path *p, const char *from, const char *end)
{
	for (const char *at = from; at; at = at < end ? step(at, end) : NULL) {
		/* Rust: `Vec::<T>::f` has arguments behind the colons. */
		const bool colons = end - at >= 2 && at[0] == ':' && at[1] == ':';

		if (at < end && (!colons || (end - at > 2 && at[2] == '<' && at > from)))
			continue;
		if (!add_part(p, from, at))
			return false;
		if (at >= end)
			return true;
		from = at + 2;
		at++;
	}
	return false;
}

void function_path_parse(const char *name, struct function_path *path)
{
	const char *end, *close;

	path->n = 0;
	/* Rust's `<Type as Trait>::f` and `<Type>::f` have spaces and brackets of their own. */
	close = name[0] == '<' ? behind_bracket(name, name + strnlen(name, TYPE_NAME_MOST)) : NULL;
	path->path =
		close ? (struct text_part){ name + 1, strnlen(name, TYPE_NAME_MOST) - 1 } : path_of(name);
	if (!path->path.text)
		return;
	end = path->path.text + path->path.n;
	if (close && (!add_parts(path, name + 1, before_as(name + 1, close - 1)) ||
		      !add_parts(path, close + (end - close >= 2 ? 2 : 0), end)))
		path->n = 0;
	else if (!close && !add_parts(path, path->path.text, end))
		path->n = 0;
}

struct text_part function_path_until(const struct function_path *path, unsigned i)
{
	return (struct text_part){ path->path.text, path->parts[i].end };
}
