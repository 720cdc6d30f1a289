/* SPDX-License-Identifier: MIT */
#include "mappers.h"

#include <dirent.h>
#include <fcntl.h>
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

/*
 * Whether all lines were there: an open file of mappings ends as soon as the process ends or executes another program, but
 * until then it can be read again.
 */
static bool was_whole(FILE *maps)
{
	rewind(maps);
	return getc(maps) != EOF;
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
	if (mapping == NOT_MAPPED && !was_whole(maps))
		mapping = MAPPING_UNKNOWN;
out:
	free(line);
	if (maps)
		fclose(maps);
	return mapping;
}

/* The number after the last blank of a line of /proc/PID/status that begins with `key`; 0: no such line. */
static pid_t status_number(pid_t pid, const char *key)
{
	char path[64], *line = NULL;
	pid_t number = 0;
	size_t size = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && number == 0 && getline(&line, &size, status) > 0) {
		const char *blank = strncmp(line, key, strlen(key)) == 0 ? strrchr(line, '\t') : NULL;

		if (blank)
			number = (pid_t)strtol(blank, NULL, 10);
	}
	free(line);
	if (status)
		fclose(status);
	return number;
}

#define START_FIELD 22u /* of /proc/PID/stat, counted from 1 */

/* When the process began, in clock ticks since the system did; 0: unknown. */
static unsigned long long start_of(pid_t pid)
{
	char path[64], line[1024];
	const char *at = NULL;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	line[n > 0 ? n : 0] = 0;
	/* The name in front, in brackets, may contain anything. Then come fields with a blank before each. */
	at = strrchr(line, ')');
	for (unsigned field = 2; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* A process that maps the file, is not known, and has this id in its own namespace (0: any); 0: none. */
static pid_t find_mapper(int fd, pid_t number, bool (*known)(const void *context, pid_t pid),
			 const void *context)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	while (proc && !found && (entry = readdir(proc))) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && !known(context, pid) &&
		    (!number || status_number(pid, "NSpid:") == number) && mapping_of(pid, fd) == MAPPED)
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

/* A process older than msrec is not one that it has started, nor a child of one. */
static bool is_young(pid_t pid)
{
	static unsigned long long own;
	const unsigned long long start = start_of(pid);

	if (!own)
		own = start_of(getpid());
	return start && start >= own;
}

pid_t mapper_numbered(int fd, pid_t number, pid_t outer, bool (*known)(const void *context, pid_t pid),
		      const void *context)
{
	const pid_t likely = outer ? outer : number;
	const enum mapping mapping = mapping_of(likely, fd);
	pid_t found;

	if (mapping == MAPPED || (outer && is_young(outer)))
		return likely;
	found = find_mapper(fd, number, known, context);
	if (found)
		return found;
	return mapping == NOT_MAPPED || !is_young(likely) ? -1 : likely;
}

pid_t mapper_of_space(int fd, pid_t number)
{
	/* One line of /proc is read sooner than all mappings. */
	return is_young(number) || mapping_of(number, fd) == MAPPED ? number : -1;
}

uint64_t mapper_own_space(void)
{
	struct stat space;

	return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

pid_t mapper_unknown(int fd, bool (*known)(const void *context, pid_t pid), const void *context)
{
	return find_mapper(fd, 0, known, context);
}
