/* SPDX-License-Identifier: MIT */
#include "sites.h"

#include <assert.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "mst_op.h"
#include "type_name.h"
#include "wrappers.h"

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
};

#define LLOC "lloc"

/* A pattern of fnmatch(3), which takes a hundred times as long as what decides most patterns. */
struct pattern {
	const char *text;
	size_t begin;     /* so many bytes at its beginning stand for themselves */
	const char *part; /* the last bytes that do */
	size_t n_part;
	bool lloc;                  /* what matches has these letters, as most wrappers of malloc */
	const struct pattern *next; /* of those that begin alike */
	enum {
		WHOLE, /* it is all beginning */
		ENDS,  /* its beginning, a star, the part */
		HAS,   /* its beginning, a star, the part, a star */
		OTHER, /* what matches has the part, if that isn't empty */
	} form;
};

struct sites {
	const struct mst_reader *reader;
	struct call_sites *calls;
	bool all;                                        /* nothing is hidden */
	struct pattern *patterns;                        /* of hidden functions, built-in and given */
	const struct pattern *begin_with[UCHAR_MAX + 1]; /* of `patterns`, by the first byte; 0: any */
	const struct mst_stack *stacks;
	const struct mst_frame *frames;
	const struct mst_module *modules;
	uint32_t n_stacks, n_frames, n_modules;
	uint32_t room_stacks, room_ids, room_frames, room_modules, room_hidden_frames;
	struct entry *entries;   /* by stack */
	uint64_t *ids;           /* by stack; 0: not asked */
	uint64_t *frame_hashes;  /* by frame; 0: not asked */
	bool *wrappers;          /* by frame; NULL: not asked */
	uint8_t *hidden_frames;  /* by frame: enum hiding; HIDDEN: all of its calls are */
	uint8_t *hidden_modules; /* by module: enum hiding */
	uint8_t *hidden_calls;   /* by call: enum hiding */
	uint32_t room_calls;
	uint32_t looked_frames; /* of these ... */
	bool scripts;           /* ... some are of scripts */
};

void sites_destroy(struct sites *s)
{
	if (!s)
		return;
	free(s->entries);
	free(s->ids);
	free(s->frame_hashes);
	free(s->wrappers);
	free(s->hidden_frames);
	free(s->hidden_modules);
	free(s->hidden_calls);
	free(s->patterns);
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

static struct pattern pattern_of(const char *text)
{
	static const char special[] = "*?[]\\";
	struct pattern p = { .text = text, .begin = strcspn(text, special), .form = OTHER };
	const char *rest = text + p.begin, *end = text + strlen(text);
	if (*rest == '\0') {
		p.form = WHOLE;
		return p;
	}
	const bool open = end[-1] == '*' && end - 1 > rest;
	p.part = end -= open;
	while (p.part > rest && !strchr(special, p.part[-1]))
		p.part--;
	p.n_part = (size_t)(end - p.part);
	p.lloc = memmem(p.part, p.n_part, LLOC, strlen(LLOC));
	if (*rest == '*' && p.part == rest + 1)
		p.form = open ? HAS : ENDS;
	else if (p.part > rest && strchr("[\\", p.part[-1]))
		p.n_part = 0;
	return p;
}

/* `n`: bytes of the text. */
static bool pattern_matches(const struct pattern *p, const char *text, size_t n)
{
	if (n < p->begin || memcmp(text, p->text, p->begin) != 0)
		return false;
	const char *rest = text + p->begin;
	n -= p->begin;
	switch (p->form) {
	case WHOLE:
		return n == 0;
	case ENDS:
		return n >= p->n_part && memcmp(rest + n - p->n_part, p->part, p->n_part) == 0;
	case HAS:
		return memmem(rest, n, p->part, p->n_part);
	case OTHER:
		break;
	}
	return memmem(rest, n, p->part, p->n_part) && fnmatch(p->text, text, 0) == 0;
}

/* False: no memory. */
static bool prepare_patterns(struct sites *s, const struct sites_hidden *hidden)
{
	size_t n = 0;
	s->all = hidden->all;
	s->patterns = malloc((COUNT(hidden_functions) + hidden->n + hidden->n_names) * sizeof(*s->patterns));
	if (!s->patterns)
		return false;
	for (size_t i = 0; i < COUNT(hidden_functions); i++)
		s->patterns[n++] = pattern_of(hidden_functions[i]);
	for (size_t i = 0; i < hidden->n; i++)
		s->patterns[n++] = pattern_of(hidden->patterns[i]);
	for (size_t i = 0; i < hidden->n_names; i++)
		s->patterns[n++] = (struct pattern){ .text = hidden->names[i],
						     .begin = strlen(hidden->names[i]),
						     .form = WHOLE };
	for (size_t i = 0; i < n; i++) {
		struct pattern *p = &s->patterns[i];
		const struct pattern **first = &s->begin_with[p->begin ? (unsigned char)*p->text : 0];
		p->next = *first;
		*first = p;
	}
	return true;
}

bool sites_refresh(struct sites *s, const struct mst_reader *reader)
{
	s->stacks = mst_reader_stacks(reader, &s->n_stacks);
	s->frames = mst_reader_frames(reader, &s->n_frames);
	s->modules = mst_reader_modules(reader, &s->n_modules);
	for (; s->looked_frames < s->n_frames && !s->scripts; s->looked_frames++)
		s->scripts = mst_frame_is_script(&s->frames[s->looked_frames]);
	return array_reserve_zeroed(&s->entries, s->n_stacks, &s->room_stacks, sizeof(*s->entries)) &&
	       array_reserve_zeroed(&s->frame_hashes, s->n_frames, &s->room_frames,
				    sizeof(*s->frame_hashes)) &&
	       array_reserve_zeroed(&s->hidden_frames, s->n_frames, &s->room_hidden_frames, 1) &&
	       array_reserve_zeroed(&s->hidden_modules, s->n_modules, &s->room_modules, 1);
}

struct sites *sites_create(const struct mst_reader *reader, struct call_sites *calls,
			   const struct sites_hidden *hidden)
{
	struct sites *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->reader = reader;
	s->calls = calls;
	if (sites_refresh(s, reader) && prepare_patterns(s, hidden))
		return s;
	sites_destroy(s);
	return NULL;
}

static bool is_hidden_module(struct sites *s, uint32_t module)
{
	if (module >= s->n_modules)
		return false;
	uint8_t *known = &s->hidden_modules[module];
	if (*known == NOT_ASKED) {
		*known = SHOWN;
		for (size_t i = 0; i < COUNT(hidden_modules) && *known == SHOWN; i++) {
			if (fnmatch(hidden_modules[i], sites_module(s, module), 0) == 0)
				*known = HIDDEN;
		}
	}
	return *known == HIDDEN;
}

/* The C++ library's own: what a function returns and takes does not matter. */
static bool is_in_library(const char *function)
{
	static const char *const names[] = { "std", "__gnu_cxx" };
	struct function_path path;
	if (!strstr(function, "std::") && !strstr(function, "__gnu_cxx::"))
		return false;
	function_path_parse(function, &path);
	for (size_t i = 0; path.n > 1 && i < COUNT(names); i++) {
		if (text_part_is(path.parts[0].name, names[i]))
			return true;
	}
	return path.n == 0 && strncmp(function, "std::", 5) == 0;
}

/* Whether one of a list's patterns matches; `lloc`: the function has these letters. */
static bool one_matches(const struct pattern *first, const char *function, size_t n, bool lloc)
{
	for (const struct pattern *p = first; p; p = p->next) {
		if ((lloc || !p->lloc) && pattern_matches(p, function, n))
			return true;
	}
	return false;
}

static bool is_hidden_function(const struct sites *s, const char *function)
{
	const size_t n = strlen(function);
	if (!s->all && is_in_library(function))
		return true;
	const bool lloc = memmem(function, n, LLOC, strlen(LLOC));
	return one_matches(s->begin_with[0], function, n, lloc) ||
	       one_matches(s->begin_with[(unsigned char)*function], function, n, lloc);
}

bool sites_hide(struct sites *s, uint32_t call, uint32_t module, bool *hidden)
{
	if (!array_reserve_zeroed(&s->hidden_calls, call, &s->room_calls, sizeof(*s->hidden_calls)))
		return false;
	uint8_t *known = &s->hidden_calls[call];
	if (*known == NOT_ASKED)
		*known = is_hidden_function(s, call_sites_at(s->calls, call)->function) ? HIDDEN : SHOWN;
	*hidden = !s->all && (*known == HIDDEN || is_hidden_module(s, module));
	return true;
}

/* ---- Sites ---- */

/* What is known of a stack on the way outwards; calls are MST_NONE before. */
struct search {
	uint32_t
		interpreter; /* the module whose calls a script has made; MST_NONE: no script is further out */
	struct site first;   /* the innermost call */
	struct site nameless; /* the innermost one that isn't hidden */
	uint32_t node;        /* of `nameless` */
};

/* Looks at a call; `*found`: it is the site. False: no memory. */
static bool look_at(struct sites *s, struct search *search, struct site here, uint32_t node, bool *found)
{
	bool hidden;
	*found = false;
	if (!sites_hide(s, here.call, here.module, &hidden))
		return false;
	hidden |= !s->all && search->interpreter != MST_NONE && here.module == search->interpreter;
	if (search->first.call == MST_NONE)
		search->first = here;
	if (hidden)
		return true;
	*found = s->all || here.module == MST_NONE || call_sites_at(s->calls, here.call)->named;
	if (search->nameless.call == MST_NONE) {
		search->nameless = here;
		search->node = node;
	}
	return true;
}

/* Whether all calls of a frame are hidden, whatever runs them. False, too, if there is no memory. */
static bool is_hidden_frame(struct sites *s, uint32_t frame)
{
	uint8_t *known = &s->hidden_frames[frame];
	if (*known == NOT_ASKED) {
		uint32_t n;
		const uint32_t *calls = call_sites_of(s->calls, frame, &n);
		bool hidden = calls;
		for (uint32_t i = 0; hidden && i < n; i++) {
			if (!sites_hide(s, calls[i], s->frames[frame].module, &hidden))
				return false;
		}
		*known = hidden ? HIDDEN : SHOWN;
	}
	return *known == HIDDEN;
}

/* A script that the trace cannot name is passed over: then the sites are the interpreter's functions. */
static bool is_named_script(struct sites *s, uint32_t frame)
{
	uint32_t n;
	const uint32_t *calls =
		mst_frame_is_script(&s->frames[frame]) ? call_sites_of(s->calls, frame, &n) : NULL;
	return calls && call_sites_at(s->calls, calls[0])->named;
}

/* The module of the interpreter that runs the innermost function of a script in a stack; MST_NONE: there is none. */
static uint32_t interpreter_of(struct sites *s, uint32_t stack)
{
	bool script = false;
	for (; s->scripts && stack != MST_ROOT_STACK; stack = s->stacks[stack].parent) {
		const uint32_t frame = s->stacks[stack].frame;
		if (script && !mst_frame_is_script(&s->frames[frame]))
			return s->frames[frame].module;
		script |= is_named_script(s, frame);
	}
	return MST_NONE;
}

bool sites_hide_frame(struct sites *s, uint32_t stack)
{
	assert(stack < s->n_stacks);
	if (stack == MST_ROOT_STACK || !s->scripts)
		return false;
	const uint32_t frame = s->stacks[stack].frame;
	if (mst_frame_is_script(&s->frames[frame]))
		return !is_named_script(s, frame);
	const uint32_t interpreter = s->all ? MST_NONE : interpreter_of(s, s->stacks[stack].parent);
	return interpreter != MST_NONE && s->frames[frame].module == interpreter;
}

/*
 * The innermost call that isn't hidden, nor a part of the interpreter inside of a script. If that has no name, the innermost
 * one with a name among those by which its library came there: static functions of stripped libraries are wrappers more often
 * than not, and their addresses say little. Without one, the node of the call that has no name is left in *nameless; else
 * MST_NONE.
 */
static bool search_site(struct sites *s, uint32_t stack, struct site *site, uint32_t *nameless)
{
	const struct site none = { .call = MST_NONE, .module = MST_NONE, .via = MST_NONE };
	struct search search = { interpreter_of(s, stack), none, none, MST_NONE };
	*nameless = MST_NONE;
	for (; stack != MST_ROOT_STACK; stack = s->stacks[stack].parent) {
		uint32_t n;
		const uint32_t frame = s->stacks[stack].frame;
		/* Most frames of a stack with containers are of this sort. */
		if (search.first.call != MST_NONE && search.nameless.call == MST_NONE &&
		    is_hidden_frame(s, frame))
			continue;
		const uint32_t *calls = call_sites_of(s->calls, frame, &n);
		const uint32_t module = s->frames[frame].module;
		if (search.nameless.call != MST_NONE && module != search.nameless.module)
			break;
		if (mst_frame_is_script(&s->frames[frame]) && !is_named_script(s, frame))
			continue;
		for (uint32_t i = 0; calls && i < n; i++) {
			bool found;
			*site = (struct site){ calls[i], module, search.first.call, i + 1 < n };
			if (!look_at(s, &search, *site, stack, &found))
				return false;
			if (found)
				return true;
		}
		if (!calls)
			return false;
	}
	/* If all are hidden, the innermost is as good as any. */
	*site = search.nameless.call != MST_NONE ? search.nameless : search.first;
	*nameless = search.node;
	return true;
}

/* Leaves the wrappers in which a site without a name lies. False: no memory. */
static bool leave_wrappers(struct sites *s, uint32_t nameless, struct site *site)
{
	uint32_t n;
	const uint32_t node = wrappers_leave(s->reader, s->wrappers, nameless);
	if (node == nameless)
		return true;
	const uint32_t *calls = call_sites_of(s->calls, s->stacks[node].frame, &n);
	if (!calls)
		return false;
	*site = (struct site){ calls[0], site->module, site->via == MST_NONE ? site->call : site->via,
			       n > 1 };
	return true;
}

/* The site of a stack, but for wrappers, and the node of a call without a name, or MST_NONE. False: no memory. */
static bool begin_site(struct sites *s, uint32_t stack, uint32_t *nameless)
{
	struct entry *entry = &s->entries[stack];
	entry->known = search_site(s, stack, &entry->site, nameless);
	return entry->known;
}

/*
 * Finds the wrappers without names among all calls that allocate, and so the sites of all stacks that do. False: no
 * memory.
 */
static bool learn_wrappers(struct sites *s)
{
	uint32_t n_kinds, n = 0;
	const struct mst_kind *kinds = mst_reader_kinds(s->reader, &n_kinds);
	uint32_t *stacks = malloc((n_kinds + (size_t)1) * sizeof(*stacks));
	uint32_t *nodes = malloc((n_kinds + (size_t)1) * sizeof(*nodes));
	uint32_t *left = malloc((n_kinds + (size_t)1) * sizeof(*left));
	bool fine = stacks && nodes && left;
	for (uint32_t i = 0; fine && i < n_kinds; i++) {
		stacks[n] = kinds[i].stack;
		if (s->entries[stacks[n]].known || kinds[i].op == MST_OP_UNKNOWN ||
		    kinds[i].op >= MST_OP_FREE)
			continue;
		fine = begin_site(s, stacks[n], &nodes[n]);
		n += fine && nodes[n] != MST_NONE;
	}
	if (fine) {
		memcpy(left, nodes, n * sizeof(*left));
		s->wrappers = wrappers_find(s->reader, left, n);
		fine = s->wrappers;
	}
	for (uint32_t i = 0; fine && i < n; i++)
		fine = leave_wrappers(s, nodes[i], &s->entries[stacks[i]].site);
	free(stacks);
	free(nodes);
	free(left);
	return fine;
}

const struct site *sites_of(struct sites *s, uint32_t stack)
{
	struct entry *entry = &s->entries[stack];
	uint32_t nameless;
	assert(stack < s->n_stacks);
	if (entry->known)
		return &entry->site;
	if (!begin_site(s, stack, &nameless))
		return NULL;
	if (nameless == MST_NONE)
		return &entry->site;
	if (s->wrappers)
		return leave_wrappers(s, nameless, &entry->site) ? &entry->site : NULL;
	entry->known = false; /* it is one of those to learn from, if it allocates */
	return learn_wrappers(s) ? sites_of(s, stack) : NULL;
}

uint32_t sites_caller(struct sites *s, uint32_t stack)
{
	const struct site *site = sites_of(s, stack);
	bool passed = false;
	for (; site && stack != MST_ROOT_STACK; stack = s->stacks[stack].parent) {
		uint32_t n;
		const uint32_t *calls = call_sites_of(s->calls, s->stacks[stack].frame, &n);
		for (uint32_t i = 0; calls && i < n; i++) {
			if (passed)
				return calls[i];
			passed = calls[i] == site->call;
		}
	}
	return MST_NONE;
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

/* Of the frame's functions, innermost first, and its module. 0: no memory. */
static uint64_t frame_hash(struct sites *s, uint32_t frame)
{
	uint64_t *known = &s->frame_hashes[frame], hash = FNV_BASIS;
	uint32_t n;
	assert(frame < s->n_frames);
	if (*known)
		return *known;
	const uint32_t *calls = call_sites_of(s->calls, frame, &n);
	if (!calls)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		hash = hash_more(hash, call_sites_at(s->calls, calls[i])->function);
	hash = hash_more(hash, sites_module(s, s->frames[frame].module));
	*known = hash ? hash : 1;
	return *known;
}

/* Pages ask for thousands of ids of stacks a hundred calls deep: a call costs one step, whatever its name. */
uint64_t sites_id(struct sites *s, uint32_t stack)
{
	uint64_t hash = FNV_BASIS;
	assert(stack < s->n_stacks);
	if (!array_reserve_zeroed(&s->ids, s->n_stacks, &s->room_ids, sizeof(*s->ids)))
		return 0;
	uint64_t *id = &s->ids[stack];
	if (*id)
		return *id;
	for (; stack != MST_ROOT_STACK; stack = s->stacks[stack].parent) {
		const uint64_t more = frame_hash(s, s->stacks[stack].frame);
		if (!more)
			return 0;
		hash = (hash ^ more) * FNV_PRIME;
		hash ^= hash >> 32;
	}
	*id = hash ? hash : 1;
	return *id;
}

struct call_sites *sites_calls(const struct sites *s)
{
	return s->calls;
}
