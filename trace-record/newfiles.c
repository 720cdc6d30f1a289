/* SPDX-License-Identifier: MIT */
#include "newfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_TRIED 1000u

void newfiles_finish(struct newfiles *files)
{
	for (uint32_t i = 0; i < files->n; i++)
		free(files->made[i]);
	free(files->made);
}

/* Which of ours has the path; files->n: none. */
static uint32_t find(const struct newfiles *files, const char *path)
{
	uint32_t i = 0;

	while (i < files->n && strcmp(files->made[i], path) != 0)
		i++;
	return i;
}

static void note(struct newfiles *files, const char *path)
{
	char **made = realloc(files->made, (files->n + 1) * sizeof(*made));

	if (!made)
		return;
	files->made = made;
	made[files->n] = strdup(path);
	files->n += made[files->n] != NULL;
}

int newfiles_create(struct newfiles *files, const char *path)
{
	struct stat st;
	int fd;

	if (files->overwrite && find(files, path) == files->n && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && files->overwrite)
		note(files, path);
	return fd;
}

void newfiles_remove(struct newfiles *files, const char *path)
{
	const uint32_t i = find(files, path);

	unlink(path);
	if (i == files->n)
		return;
	free(files->made[i]);
	files->made[i] = files->made[--files->n];
}

int newfiles_create_numbered(struct newfiles *files, char **path)
{
	for (unsigned i = 1; i < NAMES_TRIED; i++) {
		char *name;
		int fd;

		if (i == 1)
			name = strdup(*path);
		else if (asprintf(&name, "%s.%u", *path, i) < 0)
			name = NULL;
		if (!name)
			return -1;
		fd = newfiles_create(files, name);
		if (fd >= 0 || errno != EEXIST) {
			free(*path);
			*path = name;
			return fd;
		}
		free(name);
	}
	return -1;
}
