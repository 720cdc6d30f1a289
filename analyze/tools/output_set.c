/* SPDX-License-Identifier: MIT */
#include "output_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Identifies a file, existing or not: equal for all its names. */
struct output_place {
	bool shared; /* not a plain file: any number of results may go there */
	dev_t dev;   /* of the file; of its directory if the file doesn't exist */
	ino_t ino;
	const char *name; /* the name in its directory if the file doesn't exist; else "" */
};

static int find_place(struct output_place *output_place, const char *name)
{
	struct stat st;
	*output_place = (struct output_place){ .name = name };
	if (strcmp(name, "-") == 0)
		return 0;
	if (stat(name, &st) == 0) {
		*output_place = (struct output_place){ !S_ISREG(st.st_mode), st.st_dev, st.st_ino, "" };
		return 0;
	}
	const char *slash = strrchr(name, '/');
	char *directory = slash ? strndup(name, (size_t)(slash + 1 - name)) : strdup(".");
	if (!directory)
		return -ENOMEM;
	if (stat(directory, &st) == 0)
		*output_place =
			(struct output_place){ false, st.st_dev, st.st_ino, slash ? slash + 1 : name };
	free(directory);
	return 0;
}

static bool is_same(const struct output_place *a, const struct output_place *b)
{
	return !a->shared && a->dev == b->dev && a->ino == b->ino && strcmp(a->name, b->name) == 0;
}

/* True if the result's rename would replace the input. */
static bool is_input(int input, const struct output_place *output_place)
{
	struct stat st;
	return fstat(input, &st) == 0 && !output_place->shared && *output_place->name == '\0' &&
	       st.st_dev == output_place->dev && st.st_ino == output_place->ino;
}

static void complain(const struct tool *tool, const char *name, const char *why)
{
	tool_error(tool, "%s: %s", strcmp(name, "-") == 0 ? "standard output" : name, why);
}

int output_set_add(struct output_set *set, const struct tool *tool, int input, const char *name)
{
	struct output_place *grown = reallocarray(set->items, set->n + 1, sizeof(*grown));
	if (grown)
		set->items = grown;
	if (!grown || find_place(&grown[set->n], name) != 0) {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	const char *why = is_input(input, &grown[set->n]) ? "is the trace itself" : NULL;
	for (size_t i = 0; i < set->n && !why; i++)
		if (is_same(&grown[i], &grown[set->n]))
			why = "two results would have this name";
	set->n++;
	if (!why)
		return 0;
	complain(tool, name, why);
	return TOOL_USAGE;
}

void output_set_finish(struct output_set *set)
{
	free(set->items);
	*set = (struct output_set){ 0 };
}

int output_set_check(const struct tool *tool, int input, const char *name)
{
	struct output_set set = { 0 };
	const int status = output_set_add(&set, tool, input, name);
	output_set_finish(&set);
	return status;
}

bool output_begin(struct output_file *file, const struct tool *tool, const char *name, mode_t mode,
		  enum packing packing)
{
	const int error = output_file_begin(file, name, mode, packing);
	if (error)
		complain(tool, name, strerror(-error));
	return error == 0;
}

bool output_end(struct output_file *file, const struct tool *tool, const char *name, bool keep)
{
	int error = 0;
	if (keep)
		error = output_file_commit(file);
	else
		output_file_abort(file);
	if (error)
		complain(tool, name, strerror(-error));
	return error == 0;
}
