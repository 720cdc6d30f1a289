/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Massif 3.19's allocation functions. */
static const char *const alloc_fns[] = {
	"malloc",
	"__builtin_new",
	"operator new(unsigned)",
	"operator new(unsigned long)",
	"__builtin_vec_new",
	"operator new[](unsigned)",
	"operator new[](unsigned long)",
	"calloc",
	"realloc",
	"memalign",
	"posix_memalign",
	"valloc",
	"operator new(unsigned, std::nothrow_t const&)",
	"operator new[](unsigned, std::nothrow_t const&)",
	"operator new(unsigned long, std::nothrow_t const&)",
	"operator new[](unsigned long, std::nothrow_t const&)",
};

/* ---- Lists ---- */

int name_list_append(struct name_list *list, const char *name)
{
	char **names = reallocarray(list->names, list->n + 1, sizeof(*names));
	if (!names)
		return ENOMEM;
	list->names = names;
	names[list->n] = strdup(name);
	if (!names[list->n])
		return ENOMEM;
	list->n++;
	return 0;
}

static bool is_before(const struct at *a, const struct at *b)
{
	return a->kind != b->kind ? a->kind < b->kind : a->time < b->time;
}

int settings_add_at(struct settings *s, struct at at)
{
	struct at *ats = reallocarray(s->ats, s->n_ats + 1, sizeof(*ats));
	if (!ats)
		return ENOMEM;
	s->ats = ats;
	size_t i = s->n_ats++;
	for (; i > 0 && is_before(&at, &ats[i - 1]); i--)
		ats[i] = ats[i - 1];
	ats[i] = at;
	return 0;
}

int settings_replace(char **text, const char *by)
{
	char *copy = strdup(by);
	if (!copy)
		return ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

/* ---- Life ---- */

bool settings_init(struct settings *s)
{
	*s = (struct settings){
		.time_unit = TIME_DEFAULT,
		.usable = USABLE_ROUNDED,
		.heap = true,
		.heap_admin = 8,
		.alignment = 16,
		.depth = 30,
		.detailed_freq = 10,
		.max_snapshots = 100,
		.threshold = 1.0,
		.peak_inaccuracy = 1.0,
		.xtree_memory = XTREE_NONE,
		.xtree_compress = true,
		.out_file = strdup(SETTINGS_OUT_FILE),
		.out_option = "massif-out-file",
		.xtree_file = strdup(SETTINGS_XTREE_FILE),
		.desc = strdup(""),
	};
	bool ok = s->out_file && s->xtree_file && s->desc;
	for (size_t i = 0; ok && i < sizeof(alloc_fns) / sizeof(*alloc_fns); i++)
		ok = name_list_append(&s->alloc_fns, alloc_fns[i]) == 0;
	if (!ok)
		settings_finish(s);
	return ok;
}

static void finish_names(struct name_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
}

void settings_finish(struct settings *s)
{
	finish_names(&s->alloc_fns);
	finish_names(&s->ignore_fns);
	finish_names(&s->fullpath_after);
	free(s->ats);
	free(s->out_file);
	free(s->xtree_file);
	free(s->desc);
	*s = (struct settings){ 0 };
}
