/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Massif's allocation functions: of 3.19, and since 3.22. */
static const char *const alloc_fns_3_19[] = {
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
	NULL,
};
static const char *const alloc_fns_3_24[] = {
	"malloc",
	"__builtin_new",
	"operator new(unsigned long)",
	"__builtin_vec_new",
	"operator new[](unsigned long)",
	"calloc",
	"aligned_alloc",
	"realloc",
	"memalign",
	"posix_memalign",
	"valloc",
	"operator new(unsigned long, std::nothrow_t const&)",
	"operator new[](unsigned long, std::nothrow_t const&)",
	"operator new(unsigned long, std::align_val_t)",
	"operator new[](unsigned long, std::align_val_t)",
	"operator new(unsigned long, std::align_val_t, std::nothrow_t const&)",
	"operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)",
	NULL,
};

static const char *const *alloc_fns_of(enum compat compat)
{
	return compat >= COMPAT_3_24 ? alloc_fns_3_24 : alloc_fns_3_19;
}

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

static void finish_names(struct name_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
}

static int append_alloc_fns(struct name_list *list, enum compat compat)
{
	int error = 0;
	for (const char *const *name = alloc_fns_of(compat); *name && !error; name++)
		error = name_list_append(list, *name);
	return error;
}

int settings_set_compat(struct settings *s, enum compat compat)
{
	struct name_list list = { 0 };
	size_t given = 0;
	int error = append_alloc_fns(&list, compat);
	while (alloc_fns_of(s->compat)[given])
		given++;
	for (; given < s->alloc_fns.n && !error; given++)
		error = name_list_append(&list, s->alloc_fns.names[given]);
	if (error) {
		finish_names(&list);
		return error;
	}
	finish_names(&s->alloc_fns);
	s->alloc_fns = list;
	s->compat = compat;
	return 0;
}

static bool is_before(const struct at *a, const struct at *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return a->kind == AT_MARK ? a->record < b->record : a->time < b->time;
}

/* Moves the last request of the first `n` to its place. */
static void place_at(struct at *ats, size_t n)
{
	const struct at at = ats[n - 1];
	size_t i = n - 1;
	for (; i > 0 && is_before(&at, &ats[i - 1]); i--)
		ats[i] = ats[i - 1];
	ats[i] = at;
}

int settings_add_at(struct settings *s, struct at at)
{
	struct at *ats = reallocarray(s->ats, s->n_ats + 1, sizeof(*ats));
	if (!ats)
		return ENOMEM;
	s->ats = ats;
	ats[s->n_ats++] = at;
	place_at(ats, s->n_ats);
	return 0;
}

void settings_sort_ats(struct settings *s)
{
	for (size_t n = 2; n <= s->n_ats; n++)
		place_at(s->ats, n);
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
	ok = ok && append_alloc_fns(&s->alloc_fns, s->compat) == 0;
	if (!ok)
		settings_finish(s);
	return ok;
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
