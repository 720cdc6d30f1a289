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

/* Whether the file DIR/FOLDER/NAME is there. True where there is no memory to tell. */
static bool exists(struct part dir, struct part folder, const char *name)
{
	char *file;
	bool found;

	if (asprintf(&file, "%.*s/%.*s/%s", (int)dir.n, dir.text, (int)folder.n, folder.text, name) < 0)
		return true;
	found = access(file, F_OK) == 0;
	free(file);
	return found;
}

/* The next folder of a list, without the sign that says whether checksums are compared. */
static bool next_dir(const char **list, struct part *dir)
{
	if (!*list)
		return false;
	dir->text = *list + (**list == '+' || **list == '-');
	dir->n = strcspn(dir->text, ":");
	*list = dir->text[dir->n] ? dir->text + dir->n + 1 : NULL;
	return true;
}

/* In a folder of debug files: below the whole of `folder`, and without one first part of it after the other. */
static bool in_tree(struct part dir, struct part folder, const char *name)
{
	bool found = exists(dir, folder, name);

	while (folder.n && !found) {
		folder.text++;
		folder.n--;
		if (folder.n == 0 || folder.text[-1] == '/')
			found = exists(dir, folder, name);
	}
	return found;
}

/* By the debug link, or the name of the file as it is called here. */
static bool by_name(const struct debugplaces *places, const char *file)
{
	const char *slash = strrchr(file, '/'), *list = places->path;
	const struct part folder = { file, slash ? (size_t)(slash - file) : 0 };
	struct part dir;
	char *name;
	bool found = false;

	if (asprintf(&name, "%s%s",
		     places->link ? places->link
		     : slash      ? slash + 1
				  : file,
		     places->link ? "" : ".debug") < 0)
		return true;
	while (!found && next_dir(&list, &dir))
		found = dir.text[0] == '/' ? in_tree(dir, folder, name) : exists(folder, dir, name);
	free(name);
	return found;
}

static bool by_build_id(const struct debugplaces *places)
{
	const struct part folder = { ".build-id", strlen(".build-id") };
	const char *list = places->path;
	char name[2 * BUILD_ID_MOST + sizeof("/.debug")], *end;
	struct part dir;
	bool found = false;

	if (places->build_id_size == 0 || places->build_id_size > BUILD_ID_MOST)
		return places->build_id_size != 0;
	end = hex_put(name, places->build_id, 1);
	*end++ = '/';
	end = hex_put(end, places->build_id + 1, places->build_id_size - 1);
	strcpy(end, ".debug");
	while (!found && next_dir(&list, &dir))
		found = exists(dir, folder, name);
	return found;
}

bool debugplaces_any(const struct debugplaces *places)
{
	char *real;
	bool found;

	/* Links are bare names by rule; supplementary files are called by their paths. */
	if (!places->file || !places->path || (places->link && strchr(places->link, '/')))
		return true;
	if (by_build_id(places) || by_name(places, places->file))
		return true;
	real = realpath(places->file, NULL);
	found = real && strcmp(real, places->file) != 0 && by_name(places, real);
	free(real);
	return found;
}
