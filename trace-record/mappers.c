/* SPDX-License-Identifier: MIT */
#include "mappers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A line of /proc/PID/maps: range, permissions, offset, device, inode, path. */
static bool is_of(const char *line, const struct stat *file)
{
	unsigned major_number, minor_number;
	unsigned long inode;

	return sscanf(line, "%*s %*s %*s %x:%x %lu", &major_number, &minor_number, &inode) == 3 &&
	       inode == file->st_ino && makedev(major_number, minor_number) == file->st_dev;
}

enum mapping mapping_of(pid_t pid, int fd)
{
	enum mapping mapping = MAPPING_UNKNOWN;
	char path[64], *line = NULL;
	struct stat file;
	size_t size = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps || fstat(fd, &file) != 0)
		goto out;
	while (mapping != MAPPED && getline(&line, &size, maps) > 0)
		mapping = is_of(line, &file) ? MAPPED : NOT_MAPPED;
out:
	free(line);
	if (maps)
		fclose(maps);
	return mapping;
}

bool has_unknown_mapper(int fd, bool (*known)(const void *context, pid_t pid), const void *context)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	if (!proc)
		return false;
	while (!found && (entry = readdir(proc))) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		found = pid > 0 && pid != getpid() && !known(context, pid) && mapping_of(pid, fd) == MAPPED;
	}
	closedir(proc);
	return found;
}
