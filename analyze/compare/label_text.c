/* SPDX-License-Identifier: MIT */
#include "label_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- What compilers add ---- */

/* A suffix of a clone, with a number behind it or without. */
static const char *const clones[] = {
	".isra", ".part", ".constprop", ".cold",       ".lto_priv",
	".llvm", ".hot",  ".unlikely",  ".localalias", ".warm",
};

/* The length of text[0..n) without ".123" at its end. */
static size_t without_number(const char *text, size_t n)
{
	size_t digits = n;
	while (digits && isdigit((unsigned char)text[digits - 1]))
		digits--;
	return digits < n && digits && text[digits - 1] == '.' ? digits - 1 : n;
}

/* The length of text[0..n) without a clone's suffix. */
static size_t without_clone(const char *text, size_t n)
{
	const size_t plain = without_number(text, n);
	for (size_t i = 0; i < COUNT(clones); i++) {
		const size_t length = strlen(clones[i]);
		if (plain > length && memcmp(text + plain - length, clones[i], length) == 0)
			return plain - length;
	}
	return n;
}

/* The length of text[0..n) without "::h" and 16 hexadecimal digits. */
static size_t without_hash(const char *text, size_t n)
{
	enum { HASH = 19 };
	if (n <= HASH || memcmp(text + n - HASH, "::h", 3) != 0)
		return n;
	for (size_t i = n - HASH + 3; i < n; i++) {
		if (!isxdigit((unsigned char)text[i]) || isupper((unsigned char)text[i]))
			return n;
	}
	return n - HASH;
}

/* Removes each part that begins with `open`, up to its "]". */
static void remove_brackets(char *text, const char *open)
{
	char *at;
	while ((at = strstr(text, open))) {
		const char *end = strchr(at, ']');
		if (!end)
			return;
		memmove(at, end + 1, strlen(end + 1) + 1);
	}
}

/* "__GI___strdup" is what glibc itself calls strdup. */
static void remove_internal(char *text)
{
	static const char internal[] = "__GI_";
	const size_t n = strlen(internal);
	if (strncmp(text, internal, n) != 0 || text[n] == '\0')
		return;
	const size_t more = strncmp(text + n, "__", 2) == 0 && text[n + 2] != '\0' ? 2 : 0;
	memmove(text, text + n + more, strlen(text + n + more) + 1);
}

void label_text_trim(char *function)
{
	remove_internal(function);
	remove_brackets(function, " [clone ");
	remove_brackets(function, "[abi:");
	char *version = strchr(function, '@');
	if (version && version > function)
		*version = '\0';
	size_t n = strlen(function), before;
	do {
		before = n;
		n = without_hash(function, without_clone(function, n));
	} while (n < before);
	function[n] = '\0';
}

/* ---- Parameters and template arguments ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static const char operator_word[] = "operator";

/* The length of an operator's name at `text`, "operator" included, with its symbol; 0: it is none. */
static size_t operator_length(const char *text)
{
	const size_t n = strlen(operator_word);
	if (strncmp(text, operator_word, n) != 0 || is_word(text[n]))
		return 0;
	if (strncmp(text + n, "()", 2) == 0)
		return n + 2;
	const size_t symbols = strspn(text + n, "<>=-!+*/%^&|~,[]");
	/* "operator<<<int>" is that of << with arguments. */
	if (symbols > 2 && text[n] == '<')
		return n + (text[n + 1] == '<' ? 2 : 1);
	return n + symbols;
}

/* What is behind the bracket that opens at `text`; its end if it never closes. Brackets of other sorts nest. */
static const char *behind_bracket(const char *text)
{
	int depth = 0;
	do {
		if (strchr("<({[", *text))
			depth++;
		else if (strchr(">)}]", *text) && !(*text == '>' && text[-1] == '-'))
			depth--;
		text++;
	} while (*text && depth > 0);
	return text;
}

/* "operator bool": the blank is part of the name. */
static bool ends_in_operator(const char *from, const char *to)
{
	const size_t n = strlen(operator_word);
	return (size_t)(to - from) >= n && memcmp(to - n, operator_word, n) == 0;
}

/* What takes the place of a text. */
struct word {
	const char *text;
	size_t n;
	const char *behind; /* where the rest begins */
};

/*
 * Parts of names that are words of their own, whatever is in them: "(anonymous namespace)"; closures, which are
 * "{lambda(int)#2}", "{{closure}}" or "{closure#0}" by compiler, and numbered; a name of an operator.
 */
static bool is_special(const char *text, bool begins_word, struct word *word)
{
	static const char anonymous[] = "(anonymous namespace)", closure[] = "{}";
	const bool is_closure = strncmp(text, "{lambda", 7) == 0 || strncmp(text, "{closure", 8) == 0 ||
				strncmp(text, "{{closure", 9) == 0;
	const size_t name = begins_word ? operator_length(text) : 0;
	if (strncmp(text, anonymous, strlen(anonymous)) == 0)
		*word = (struct word){ text, strlen(anonymous), text + strlen(anonymous) };
	else if (is_closure)
		*word = (struct word){ closure, strlen(closure), behind_bracket(text) };
	else if (*text == '{')
		*word = (struct word){ text, (size_t)(behind_bracket(text) - text), behind_bracket(text) };
	else if (name)
		*word = (struct word){ text, name, text + name };
	else
		return false;
	return true;
}

/* Where the function in a function begins: "::g(char)" of "f(int)::g(char)", whose parameters begin at `text`. */
static const char *inner_function(const char *text)
{
	static const char is_const[] = " const";
	const char *behind = behind_bracket(text);
	if (strncmp(behind, is_const, strlen(is_const)) == 0)
		behind += strlen(is_const);
	return strncmp(behind, "::", 2) == 0 ? behind : NULL;
}

/* ---- Rust ---- */

static const char impl[] = "<impl ";

/* A part of a text. */
struct span {
	const char *from, *to;
};

/* The first such word that is in no brackets. NULL: there is none. */
static const char *find_word(struct span s, const char *word)
{
	const size_t n = strlen(word);
	for (const char *at = s.from; at < s.to && (size_t)(s.to - at) >= n;) {
		if (strncmp(at, word, n) == 0)
			return at;
		at = strchr("<([{", *at) ? behind_bracket(at) : at + 1;
	}
	return NULL;
}

/*
 * What a function of "<T as Trait>", "<impl Trait for T>", "<impl T>" or "<T>" belongs to, all that are in the brackets:
 * the trait, or else the type.
 */
static struct span owner_of(const char *from, const char *behind)
{
	const bool closed = behind - from >= 2 && behind[-1] == '>';
	struct span s = { from + 1, closed ? behind - 1 : behind };
	const char *as = find_word(s, " as ");
	if (as)
		return (struct span){ as + strlen(" as "), s.to };
	if (strncmp(from, impl, strlen(impl)) != 0)
		return s;
	s.from = from + strlen(impl);
	const char *type = find_word(s, " for ");
	return (struct span){ s.from, type ? type : s.to };
}

/* ---- All of it ---- */

enum { MOST_NESTED = 8 };

/* The brackets at `from` are those of an owner, in place of a name. */
static bool is_owner(const char *from, bool first)
{
	return *from == '<' && (first || strncmp(from, impl, strlen(impl)) == 0);
}

/* A bracket may close behind the part that it opens in. */
static const char *within(struct span s, const char *at)
{
	return at < s.to ? at : s.to;
}

/*
 * Writes s without parameters and arguments to `begin`, which is not behind it, and returns the end of what is written:
 * never more than was read.
 */
static char *loosen(char *begin, struct span s, unsigned nested)
{
	const char *from = s.from;
	char *to = begin;
	struct word word;
	while (from < s.to) {
		const bool first = to == begin;
		const bool opens = *from == '<' || (*from == '[' && first);
		const char *behind = opens ? within(s, behind_bracket(from)) : from;
		const char *inner = *from == '(' && !first ? inner_function(from) : NULL;
		if (is_special(from, first || !is_word(to[-1]), &word)) {
			const size_t most = (size_t)(s.to - from), n = word.n < most ? word.n : most;
			memmove(to, word.text, n);
			to += n;
			from = within(s, word.behind);
		} else if (is_owner(from, first) && nested < MOST_NESTED) {
			/* "core::slice::<impl [T]>" is "<[u8]>" elsewhere, so what is before goes. */
			to = loosen(begin, owner_of(from, behind), nested + 1);
			from = behind;
		} else if (*from == '[' && first) {
			from = behind;
			*to++ = '[';
		} else if (*from == '<') {
			from = behind;
		} else if (strncmp(from, "::<", 3) == 0 && strncmp(from + 2, impl, strlen(impl)) != 0) {
			from = within(s, from + 2);
		} else if (*from == ' ' && from[1] == '<') {
			from++;
		} else if (inner) {
			from = within(s, inner);
		} else if (*from == '(' && !first) {
			break;
		} else if (*from == ' ' && !ends_in_operator(begin, to)) {
			/* What was before is the result's type. */
			to = begin;
			from++;
		} else {
			*to++ = *from++;
		}
	}
	return to;
}

void label_text_loosen(char *function)
{
	*loosen(function, (struct span){ function, function + strlen(function) }, 0) = '\0';
}

/* ---- Modules ---- */

void label_text_module(char *module)
{
	char *so = strstr(module, ".so");
	while (so && so[3] != '\0' && so[3] != '.')
		so = strstr(so + 1, ".so");
	if (!so)
		return;
	so[3] = '\0';
	char *version = so;
	while (version > module && (isdigit((unsigned char)version[-1]) || version[-1] == '.'))
		version--;
	if (version > module + 1 && version < so && version[-1] == '-')
		memmove(version - 1, so, strlen(so) + 1);
}
