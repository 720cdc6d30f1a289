/* SPDX-License-Identifier: MIT */
#include "suppressions.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

static const struct {
	const char *module, *function;
} built_in[] = {
#define SUPPRESS(module, function) { module, function },
#include "suppressed_leaks.h"
#undef SUPPRESS
};

void suppressions_finish(struct suppressions *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->items[i].pattern);
	free(s->items);
	*s = (struct suppressions){ 0 };
}

/* `pattern`: of n bytes; NULL for the built-in ones. */
static bool add(struct suppressions *s, const char *pattern, size_t n)
{
	char *copy = pattern ? strndup(pattern, n) : NULL;
	if ((pattern && !copy) || !array_reserve(&s->items, s->n, &s->room, sizeof(*s->items))) {
		free(copy);
		return false;
	}
	s->items[s->n++] = (struct suppression){ .pattern = copy };
	return true;
}

bool suppressions_add_built_in(struct suppressions *s)
{
	return add(s, NULL, 0);
}

enum suppressions_result suppressions_parse(struct suppressions *s, const char *text, uint32_t *line)
{
	static const char blanks[] = " \t\r", leak[] = "leak:";
	*line = 0;
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *next = text[n] ? text + n + 1 : text + n;
		++*line;
		for (; n && strchr(blanks, *text); n--)
			text++;
		while (n && strchr(blanks, text[n - 1]))
			n--;
		if (n && *text != '#') {
			if (n <= strlen(leak) || strncmp(text, leak, strlen(leak)) != 0)
				return SUPPRESSIONS_MALFORMED;
			if (!add(s, text + strlen(leak), n - strlen(leak)))
				return SUPPRESSIONS_NO_MEMORY;
		}
		text = next;
	}
	return SUPPRESSIONS_FINE;
}

/* ---- Matching ---- */

bool suppressions_match(const char *pattern, const char *text)
{
	bool anchored = *pattern == '^';
	pattern += anchored;
	for (;;) {
		for (; *pattern == '*'; pattern++)
			anchored = false;
		if (*pattern == '\0')
			return true;
		/* A piece without *; the last one may be anchored at the end. */
		size_t n = strcspn(pattern, "*");
		const size_t length = strlen(text);
		if (pattern[n] == '\0' && pattern[n - 1] == '$') {
			n--;
			return length >= n && (length == n || !anchored) &&
			       memcmp(text + length - n, pattern, n) == 0;
		}
		const char *at = memmem(text, length, pattern, n);
		if (!at || (anchored && strncmp(text, pattern, n) != 0))
			return false;
		text = anchored ? text + n : at + n;
		pattern += n;
	}
}

/* What a suppression is compared with, of one stack. */
struct frame_names {
	const struct mst_frame *frames;
	const struct mst_module *modules;
	struct call_sites *calls;
};

static const char *module_of(const struct frame_names *names, uint32_t frame)
{
	const uint32_t module = names->frames[frame].module;
	return module == MST_NONE ? "" : names->modules[module].path;
}

static bool is_built_in(const struct frame_names *names, uint32_t frame, const struct call *innermost)
{
	const char *path = module_of(names, frame), *slash = strrchr(path, '/');
	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++) {
		if (fnmatch(built_in[i].module, slash ? slash + 1 : path, 0) == 0 &&
		    fnmatch(built_in[i].function, innermost->function, 0) == 0)
			return true;
	}
	return false;
}

static bool is_hidden_by(const struct suppression *s, const char *module, const struct call *call)
{
	return suppressions_match(s->pattern, call->function) || suppressions_match(s->pattern, call->file) ||
	       suppressions_match(s->pattern, module);
}

/* Sets *number to the first suppression that hides a frame alone, if it comes before *number. False: no memory. */
static bool try_frame(const struct suppressions *s, const struct frame_names *names, uint32_t frame,
		      bool innermost, uint32_t *number)
{
	uint32_t n;
	const uint32_t *calls = call_sites_of(names->calls, frame, &n);
	if (!calls)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		const struct call *call = call_sites_at(names->calls, calls[k]);
		for (uint32_t i = 0; i < s->n && i < *number; i++) {
			if (s->items[i].pattern ? is_hidden_by(&s->items[i], module_of(names, frame), call)
						: innermost && k == 0 && is_built_in(names, frame, call))
				*number = i;
		}
	}
	return true;
}

uint32_t *suppressions_of_stacks(const struct suppressions *s, const struct mst_reader *reader,
				 struct call_sites *calls)
{
	uint32_t n_stacks, n, n_kinds;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n_stacks);
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	const struct frame_names names = { mst_reader_frames(reader, &n), mst_reader_modules(reader, &n),
					   calls };
	uint32_t *of = malloc((n_stacks + (size_t)1) * sizeof(*of));
	bool fine = of;
	for (uint32_t i = 0; fine && i < n_stacks; i++)
		of[i] = MST_NONE;
	/* Only stacks that allocate are asked for names. */
	for (uint32_t i = 0; fine && s->n && i < n_kinds; i++) {
		const uint32_t stack = kinds[i].stack;
		if (kinds[i].op == MST_OP_UNKNOWN || kinds[i].op >= MST_OP_FREE || of[stack] != MST_NONE)
			continue;
		for (uint32_t at = stack; fine && at != MST_ROOT_STACK; at = stacks[at].parent)
			fine = try_frame(s, &names, stacks[at].frame, at == stack, &of[stack]);
	}
	if (fine)
		return of;
	free(of);
	return NULL;
}
