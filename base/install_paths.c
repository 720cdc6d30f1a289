/* SPDX-License-Identifier: MIT */
#include "install_paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *install_path_find(const char *const *places, size_t n, int mode)
{
	char self[4096], *path;
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash;

	self[length > 0 ? length : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < n; i++) {
		const bool absolute = *places[i] == '/';

		if (asprintf(&path, "%.*s%s", absolute ? 0 : (int)(slash + 1 - self), self, places[i]) < 0)
			return NULL;
		if (access(path, mode) == 0)
			return path;
		free(path);
	}
	return NULL;
}
