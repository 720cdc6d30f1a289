/* SPDX-License-Identifier: MIT */
#include "sites.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

static const char *const hidden_functions[] = {
#define HIDE_FUNCTION(pattern) pattern,
#define HIDE_MODULE(pattern)
#include "hidden_frames.h"
#undef HIDE_FUNCTION
#undef HIDE_MODULE
};

static const char *const hidden_modules[] = {
#define HIDE_FUNCTION(pattern)
#define HIDE_MODULE(pattern) pattern,
#include "hidden_frames.h"
#undef HIDE_FUNCTION
#undef HIDE_MODULE
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum hiding { NOT_ASKED, SHOWN, HIDDEN };

struct entry {
	struct site site;
	bool known;
	uint64_t id; /* 0: not asked */
};

struct sites {
	struct call_sites *calls;
	const struct sites_hidden *hidden;
	const struct mst_stack *stacks;
	const struct mst_frame *frames;
	const struct mst_module *modules;
	uint32_t n_stacks, n_modules;
	struct entry *entries;   /* by stack */
	uint8_t *hidden_modules; /* by module: enum hiding */
	uint8_t *hidden_calls;   /* by call: enum hiding */
	uint32_t room_calls;
};

struct sites *sites_create(const struct mst_reader *reader, struct call_sites *calls,
			   const struct sites_hidden *hidden)
{
	struct sites *s = calloc(1, sizeof(*s));
	uint32_t n;
	if (!s)
		return NULL;
	s->calls = calls;
	s->hidden = hidden;
	s->stacks = mst_reader_stacks(reader, &s->n_stacks);
	s->frames = mst_reader_frames(reader, &n);
	s->modules = mst_reader_modules(reader, &s->n_modules);
	s->entries = calloc(s->n_stacks + (size_t)1, sizeof(*s->entries));
	s->hidden_modules = calloc(s->n_modules + (size_t)1, 1);
	if (s->entries && s->hidden_modules)
		return s;
	sites_destroy(s);
	return NULL;
}

void sites_destroy(struct sites *s)
{
	if (!s)
		return;
	free(s->entries);
	free(s->hidden_modules);
	free(s->hidden_calls);
	free(s);
}

const char *sites_module(const struct sites *s, uint32_t module)
{
	if (module >= s->n_modules)
		return "";
	const char *path = s->modules[module].path;
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- What is hidden ---- */

/*
 * Whether the text begins as the pattern and has its last plain part; false is final. fnmatch(3) takes a hundred times
 * as long, and few functions match.
 */
static bool can_match(const char *pattern, const char *text)
{
	char part[64];
	const size_t begin = strcspn(pattern, "*?[\\");
	if (strncmp(pattern, text, begin) != 0)
		return false;
	const char *end = pattern + strlen(pattern);
	while (end > pattern && strchr("*?", end[-1]))
		end--;
	const char *from = end;
	while (from > pattern && !strchr("*?[]\\", from[-1]))
		from--;
	const size_t n = (size_t)(end - from);
	if (n >= sizeof(part) || (from > pattern && strchr("[\\", from[-1])))
		return true;
	memcpy(part, from, n);
	part[n] = '\0';
	return strstr(text, part);
}

static bool matches(const char *const *patterns, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++) {
		if (can_match(patterns[i], text) && fnmatch(patterns[i], text, 0) == 0)
			return true;
	}
	return false;
}

static bool is_hidden_module(struct sites *s, uint32_t module)
{
	if (module >= s->n_modules)
		return false;
	uint8_t *known = &s->hidden_modules[module];
	if (*known == NOT_ASKED)
		*known = matches(hidden_modules, COUNT(hidden_modules), sites_module(s, module)) ? HIDDEN
												 : SHOWN;
	return *known == HIDDEN;
}

static bool is_hidden_function(const struct sites *s, const char *function)
{
	return matches(hidden_functions, COUNT(hidden_functions), function) ||
	       matches(s->hidden->patterns, s->hidden->n, function);
}

bool sites_hide(struct sites *s, uint32_t call, uint32_t module, bool *hidden)
{
	if (!array_reserve_zeroed(&s->hidden_calls, call, &s->room_calls, sizeof(*s->hidden_calls)))
		return false;
	uint8_t *known = &s->hidden_calls[call];
	if (*known == NOT_ASKED)
		*known = is_hidden_function(s, call_sites_at(s->calls, call)->function) ? HIDDEN : SHOWN;
	*hidden = !s->hidden->all && (*known == HIDDEN || is_hidden_module(s, module));
	return true;
}

/* ---- Sites ---- */

static bool find_site(struct sites *s, uint32_t stack, struct site *site)
{
	struct site first = { .call = MST_NONE, .module = MST_NONE, .via = MST_NONE };
	bool hidden;
	*site = first;
	for (; stack != MST_ROOT_STACK; stack = s->stacks[stack].parent) {
		uint32_t n;
		const uint32_t frame = s->stacks[stack].frame;
		const uint32_t *calls = call_sites_of(s->calls, frame, &n);
		const uint32_t module = s->frames[frame].module;
		for (uint32_t i = 0; calls && i < n; i++) {
			const struct site here = { calls[i], module, first.call, i + 1 < n };
			if (!sites_hide(s, calls[i], module, &hidden))
				return false;
			if (first.call == MST_NONE)
				first = here;
			if (!hidden) {
				*site = here;
				return true;
			}
		}
		if (!calls)
			return false;
	}
	*site = first; /* all are hidden: the innermost is as good as any */
	return true;
}

const struct site *sites_of(struct sites *s, uint32_t stack)
{
	struct entry *entry = &s->entries[stack];
	assert(stack < s->n_stacks);
	if (!entry->known && !find_site(s, stack, &entry->site))
		return NULL;
	entry->known = true;
	return &entry->site;
}

/* ---- Ids ---- */

#define FNV_BASIS 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

static uint64_t hash_more(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
	while (*text++);
	return hash;
}

uint64_t sites_id(struct sites *s, uint32_t stack)
{
	struct entry *entry = &s->entries[stack];
	uint64_t hash = FNV_BASIS;
	assert(stack < s->n_stacks);
	if (entry->id)
		return entry->id;
	for (; stack != MST_ROOT_STACK; stack = s->stacks[stack].parent) {
		uint32_t n;
		const uint32_t frame = s->stacks[stack].frame;
		const uint32_t *calls = call_sites_of(s->calls, frame, &n);
		if (!calls)
			return 0;
		for (uint32_t i = 0; i < n; i++)
			hash = hash_more(hash, call_sites_at(s->calls, calls[i])->function);
		hash = hash_more(hash, sites_module(s, s->frames[frame].module));
	}
	entry->id = hash ? hash : 1;
	return entry->id;
}

struct call_sites *sites_calls(const struct sites *s)
{
	return s->calls;
}
