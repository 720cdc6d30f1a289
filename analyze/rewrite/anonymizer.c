/* SPDX-License-Identifier: MIT */
#include "anonymizer.h"

#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "marks.h"
#include "string_set.h"

enum { DIGITS = 13 }; /* 52 bits: a million names collide once in 9,000 traces */

struct anonymizer {
	uint64_t key[2];
	struct string_set *texts;
};

/* ---- SipHash-2-4 (Aumasson and Bernstein) ---- */

static uint64_t rotate(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static void mix(uint64_t v[4], unsigned rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32) + v[3];
		v[2] += v[1];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v, 2);
	v[0] ^= word;
}

static uint64_t hash(const uint64_t key[2], const char *text, size_t n)
{
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
			  key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u };
	uint64_t word;
	size_t at = 0;
	for (; at + sizeof(word) <= n; at += sizeof(word)) {
		memcpy(&word, text + at, sizeof(word));
		absorb(v, le64toh(word));
	}
	word = 0;
	memcpy(&word, text + at, n - at);
	absorb(v, le64toh(word) | (uint64_t)n << 56);
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- Names ---- */

struct anonymizer *anonymizer_create(const char *key)
{
	static const uint64_t first[2] = { 1, 0 }, second[2] = { 2, 0 };
	struct anonymizer *a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->texts = string_set_create();
	if (key) {
		a->key[0] = hash(first, key, strlen(key));
		a->key[1] = hash(second, key, strlen(key));
	}
	if (a->texts && (key || getrandom(a->key, sizeof(a->key), 0) == (ssize_t)sizeof(a->key)))
		return a;
	anonymizer_destroy(a);
	return NULL;
}

void anonymizer_destroy(struct anonymizer *a)
{
	if (!a)
		return;
	string_set_destroy(a->texts);
	free(a);
}

const char *anonymizer_name(struct anonymizer *a, char letter, const char *text)
{
	char name[32];
	const int n = snprintf(name, sizeof(name), "%c%0*" PRIx64, letter, DIGITS,
			       hash(a->key, text, strlen(text)) >> (64 - 4 * DIGITS));
	return string_set_add(a->texts, name, (size_t)n);
}

const char *anonymizer_mark(struct anonymizer *a, const struct mst_mark *mark)
{
	char name[64];
	const char *hidden;
	int n;
	switch (mark_role(mark)) {
	case MARK_SPAN_END:
		return mark->name;
	case MARK_SPAN_BEGIN:
		hidden = anonymizer_name(a, 'k', mark_span_name(mark));
		if (!hidden)
			return NULL;
		n = snprintf(name, sizeof(name), MST_SPAN_BEGIN "%s", hidden);
		return string_set_add(a->texts, name, (size_t)n);
	case MARK_POINT:
		break;
	}
	return anonymizer_name(a, 'k', mark->name);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_common(const char *module)
{
	static const char *const prefixes[] = { "libc.so",     "libc-",       "libpthread.so",
						"libpthread-", "ld-linux",    "ld-2.",
						"[v",          "libjemalloc", "libtcmalloc",
						"libmimalloc" };
	for (size_t i = 0; module && i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (strncmp(base_name(module), prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

const char *anonymizer_rename(void *context, enum mst_text what, const char *text, const char *module)
{
	struct anonymizer *const a = context;
	switch (what) {
	case MST_TEXT_MODULE:
		if (is_common(text))
			return string_set_add(a->texts, base_name(text), strlen(base_name(text)));
		return anonymizer_name(a, 'm', base_name(text));
	case MST_TEXT_FUNCTION:
	case MST_TEXT_FILE:
		if (is_common(module))
			return string_set_add(a->texts, text, strlen(text));
		return anonymizer_name(a, what == MST_TEXT_FILE ? 's' : 'f', text);
	case MST_TEXT_THREAD:
		break;
	}
	return anonymizer_name(a, 't', text);
}
