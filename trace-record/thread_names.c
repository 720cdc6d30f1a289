/* SPDX-License-Identifier: MIT */
#include "thread_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void early_names_add(struct early_names *names, uint64_t pointer, const char name[SHM_NAME_BYTES])
{
	struct early_name *item = &names->items[names->next++ % EARLY_NAMES];

	item->pointer = pointer;
	memcpy(item->name, name, SHM_NAME_BYTES);
}

bool early_names_take(struct early_names *names, uint64_t pointer, char name[SHM_NAME_BYTES])
{
	bool found = false;

	/* The last one counts. */
	for (uint32_t i = 0; i < EARLY_NAMES; i++) {
		struct early_name *item = &names->items[(names->next + i) % EARLY_NAMES];

		if (!pointer || item->pointer != pointer)
			continue;
		memcpy(name, item->name, SHM_NAME_BYTES);
		item->pointer = 0;
		found = true;
	}
	return found;
}

bool thread_name_read(pid_t pid, uint32_t number, uint32_t tid, char name[SHM_NAME_BYTES])
{
	char path[64];
	ssize_t n = -1;
	int fd;

	if (pid <= 0 || ((uint32_t)pid != number && tid != number))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", (int)pid, tid == number ? (uint32_t)pid : tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, SHM_NAME_BYTES);
		close(fd);
	}
	if (n <= 0)
		return false;
	/* A line end follows the name. */
	name[n - 1] = '\0';
	return true;
}
