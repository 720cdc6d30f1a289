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

/* The length of what stays as it is at `text`; 0: nothing special begins there. */
static size_t kept_length(const char *text, bool first, bool begins_word)
{
	static const char anonymous[] = "(anonymous namespace)";
	if (strncmp(text, anonymous, strlen(anonymous)) == 0)
		return strlen(anonymous);
	/* A lambda's parameters; a type of Rust that begins a path. */
	if (*text == '{' || (*text == '<' && first))
		return (size_t)(behind_bracket(text) - text);
	return begins_word ? operator_length(text) : 0;
}

/* "operator bool": the blank is part of the name. */
static bool ends_in_operator(const char *from, const char *to)
{
	const size_t n = strlen(operator_word);
	return (size_t)(to - from) >= n && memcmp(to - n, operator_word, n) == 0;
}

void label_text_loosen(char *function)
{
	const char *from = function;
	char *to = function;
	while (*from) {
		const bool first = to == function;
		const size_t keep = kept_length(from, first, first || !is_word(to[-1]));
		if (keep) {
			memmove(to, from, keep);
			to += keep;
			from += keep;
		} else if (*from == '<') {
			from = behind_bracket(from);
		} else if (*from == ' ' && from[1] == '<') {
			from++;
		} else if (*from == '(' && !first) {
			break;
		} else if (*from == ' ' && !ends_in_operator(function, to)) {
			/* What was before is the result's type. */
			to = function;
			from++;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
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
