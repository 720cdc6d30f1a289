/* SPDX-License-Identifier: MIT */
#include "trace_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"

void trace_list_finish(struct trace_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct trace_list){ 0 };
}

/* The list owns the path afterwards. False: no memory. */
static bool add(struct trace_list *list, char *path)
{
	if (!path || !array_reserve(&list->items, list->n, &list->room, sizeof(*list->items))) {
		free(path);
		errno = ENOMEM;
		return false;
	}
	list->items[list->n++] = path;
	return true;
}

static bool is_trace(const char *name)
{
	static const char suffix[] = ".zst";
	const size_t digits = strspn(strrchr(name, '.') ? strrchr(name, '.') + 1 : "", "0123456789");
	size_t n = strlen(name);
	if (digits && name[n - digits - 1] == '.')
		n -= digits + 1;
	return *name != '.' && n >= sizeof(suffix) &&
	       strncmp(name + n - strlen(suffix), suffix, strlen(suffix)) == 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_folder(struct trace_list *list, DIR *folder, const char *path)
{
	const size_t first = list->n;
	const bool slash = path[strlen(path) - 1] == '/';
	bool fine = true;
	for (struct dirent *entry; fine && (entry = readdir(folder));) {
		char *name = NULL;
		if (!is_trace(entry->d_name))
			continue;
		if (asprintf(&name, "%s%s%s", path, slash ? "" : "/", entry->d_name) < 0)
			name = NULL;
		fine = add(list, name);
	}
	if (fine && list->n == first) {
		errno = ENOENT;
		return false;
	}
	array_sort(list->items + first, list->n - first, sizeof(*list->items), compare);
	return fine;
}

bool trace_list_add(struct trace_list *list, const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return add(list, strdup(path));
	DIR *folder = opendir(path);
	if (!folder)
		return false;
	const bool fine = add_folder(list, folder, path);
	const int error = errno;
	closedir(folder);
	errno = error;
	return fine;
}
