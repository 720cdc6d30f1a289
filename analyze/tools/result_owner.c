/* SPDX-License-Identifier: MIT */
#include "result_owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define ATTRIBUTE "user.msrec.trace"

void result_owner_init(struct result_owner *owner, const struct tool_trace *trace)
{
	const struct mst_file_info *info = mst_reader_info(trace->reader);
	struct stat st;
	int n = snprintf(owner->trace, sizeof(owner->trace), "%" PRIu32 " %" PRIu64 " %" PRIu64 " ",
			 info->pid, info->start_ns, info->begin_ns);
	/* What comes through a pipe may be any file's. */
	if (fstat(trace->origin, &st) == 0 && S_ISREG(st.st_mode))
		snprintf(owner->trace + n, sizeof(owner->trace) - (size_t)n, "%" PRIuMAX " %" PRIuMAX " ",
			 (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
}

void result_owner_mark(const struct result_owner *owner, int fd)
{
	(void)!fsetxattr(fd, ATTRIBUTE, owner->trace, strlen(owner->trace), 0);
}

static bool is_beginning(const char *text, const char *whole)
{
	return strncmp(text, whole, strlen(text)) == 0;
}

bool result_owner_is_other(const struct result_owner *owner, const char *path)
{
	char trace[sizeof(owner->trace)];
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	const ssize_t n = getxattr(path, ATTRIBUTE, trace, sizeof(trace) - 1);
	if (n <= 0)
		return true;
	trace[n] = '\0';
	return !is_beginning(trace, owner->trace) && !is_beginning(owner->trace, trace);
}
