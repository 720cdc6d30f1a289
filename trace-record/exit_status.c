/* SPDX-License-Identifier: MIT */
#include "exit_status.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ioctl(PIDFD_GET_INFO) as in Linux 6.15's pidfd.h, which older headers lack. */
struct info {
	uint64_t mask; /* what is wanted; then what was found */
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_status;
};

#define INFO_EXIT (1u << 3)
#define GET_INFO _IOWR(0xff, 11, struct info)

/* Of a process that its parent has waited for. */
static bool read_kept(int pidfd, int *status)
{
	struct info info = { .mask = INFO_EXIT };

	if (ioctl(pidfd, GET_INFO, &info) != 0 || !(info.mask & INFO_EXIT))
		return false;
	*status = info.exit_status;
	return true;
}

/* Of a zombie: the last field of its line in /proc is the status. The name in brackets may contain anything. */
static bool read_zombie(int pidfd, pid_t pid, int *status)
{
	char path[64], line[1024];
	const char *state = NULL, *last = NULL;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	stat = fopen(path, "re");
	if (!stat)
		return false;
	if (fgets(line, sizeof(line), stat)) {
		state = strrchr(line, ')');
		last = strrchr(line, ' ');
	}
	fclose(stat);
	/* As long as the zombie can be sent signals, its number is not another process's. */
	return state && last > state && strncmp(state, ") Z ", 4) == 0 && sscanf(last, " %d", status) == 1 &&
	       syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

bool exit_status_read(int pidfd, pid_t pid, int *status)
{
	return pidfd >= 0 && (read_zombie(pidfd, pid, status) || read_kept(pidfd, status));
}
