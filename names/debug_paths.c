/* SPDX-License-Identifier: MIT */
#include "debug_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hex.h"

/* Build ids are 20 bytes as a rule. */
#define BUILD_ID_MOST 64

/* A part of a list or of a path. */
struct part {
	const char *text;
	size_t n;
};

/* True: the file DIR/FOLDER/NAME exists, which becomes *first, or memory ran out. */
static bool exists(struct part dir, struct part folder, const char *name, char **first)
{
	char *file;

	if (asprintf(&file, "%.*s/%.*s/%s", (int)dir.n, dir.text, (int)folder.n, folder.text, name) < 0)
		return true;
	if (access(file, F_OK) == 0) {
		*first = file;
		return true;
	}
	free(file);
	return false;
}

/* The next folder of a list, without the sign that turns the comparison of checksums on or off. */
static bool next_dir(const char **list, struct part *dir)
{
	if (!*list)
		return false;
	dir->text = *list + (**list == '+' || **list == '-');
	dir->n = strcspn(dir->text, ":");
	*list = dir->text[dir->n] ? dir->text + dir->n + 1 : NULL;
	return true;
}

/* Looks in a folder of debug files: below all of `folder`, then without its first part, and so on. */
static bool in_tree(struct part dir, struct part folder, const char *name, char **first)
{
	bool found = exists(dir, folder, name, first);

	while (folder.n && !found) {
		folder.text++;
		folder.n--;
		if (folder.n == 0 || folder.text[-1] == '/')
			found = exists(dir, folder, name, first);
	}
	return found;
}

/* Looks by the debug link, or by the name that the file has here. */
static bool by_name(const struct debug_paths *paths, const char *file, char **first)
{
	const char *slash = strrchr(file, '/'), *list = paths->path;
	const struct part folder = { file, slash ? (size_t)(slash - file) : 0 };
	struct part dir;
	char *name;
	bool found = false;

	if (asprintf(&name, "%s%s",
		     paths->link ? paths->link
		     : slash     ? slash + 1
				 : file,
		     paths->link ? "" : ".debug") < 0)
		return true;
	while (!found && next_dir(&list, &dir))
		found = dir.text[0] == '/' ? in_tree(dir, folder, name, first)
					   : exists(folder, dir, name, first);
	free(name);
	return found;
}

static bool by_build_id(const struct debug_paths *paths, char **first)
{
	const struct part folder = { ".build-id", strlen(".build-id") };
	const char *list = paths->path;
	char name[2 * BUILD_ID_MOST + sizeof("/.debug")], *end;
	struct part dir;
	bool found = false;

	if (paths->build_id_size == 0 || paths->build_id_size > BUILD_ID_MOST)
		return paths->build_id_size != 0;
	end = hex_put(name, paths->build_id, 1);
	*end++ = '/';
	end = hex_put(end, paths->build_id + 1, paths->build_id_size - 1);
	strcpy(end, ".debug");
	while (!found && next_dir(&list, &dir))
		found = exists(dir, folder, name, first);
	return found;
}

bool debug_paths_first(const struct debug_paths *paths, char **first)
{
	char *real;
	bool found;

	*first = NULL;
	/* Debug links are bare names; a path means a supplementary file. */
	if (!paths->file || !paths->path || (paths->link && strchr(paths->link, '/')))
		return true;
	if (by_build_id(paths, first) || by_name(paths, paths->file, first))
		return true;
	real = realpath(paths->file, NULL);
	found = real && strcmp(real, paths->file) != 0 && by_name(paths, real, first);
	free(real);
	return found;
}

bool debug_paths_any(const struct debug_paths *paths)
{
	char *first;
	const bool any = debug_paths_first(paths, &first);

	free(first);
	return any;
}
