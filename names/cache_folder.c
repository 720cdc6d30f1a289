/* SPDX-License-Identifier: MIT */
#include "cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OLD_S (60LL * 24 * 60 * 60)

/* Do not create root-owned files in another user's cache (sudo). */
static bool is_own(const char *folder)
{
	struct stat status;

	return stat(folder, &status) == 0 && status.st_uid == geteuid();
}

char *cache_folder_path(void)
{
	const char *own = getenv("MSREC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder = NULL;

	if (own)
		return *own ? strdup(own) : NULL;
	if (xdg && *xdg == '/')
		return asprintf(&folder, "%s/msrec", xdg) < 0 ? NULL : folder;
	if (home && *home == '/' && is_own(home))
		return asprintf(&folder, "%s/.cache/msrec", home) < 0 ? NULL : folder;
	return NULL;
}

/* As the XDG rules have it, the last two folders of the path may be missing. */
static void create(const char *folder)
{
	char *above = strdup(folder), *slash = above ? strrchr(above, '/') : NULL;

	if (slash && slash > above) {
		*slash = '\0';
		mkdir(above, 0700);
	}
	free(above);
	mkdir(folder, 0700);
}

/* True: the file is one of the cache, or its temporary file. */
static bool is_cache_file(const char *name)
{
	const size_t digits = strspn(name, "0123456789abcdef");

	return digits && strncmp(name + digits, CACHE_SUFFIX, strlen(CACHE_SUFFIX)) == 0;
}

/* Removes old files of the cache. */
static void tidy(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	struct stat status;

	while (dir && (entry = readdir(dir)) != NULL) {
		if (is_cache_file(entry->d_name) &&
		    fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode) && time(NULL) - status.st_mtim.tv_sec > OLD_S)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

void cache_folder_prepare(const char *folder)
{
	create(folder);
	tidy(folder);
}
