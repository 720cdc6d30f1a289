/* SPDX-License-Identifier: MIT */
/*
 * Limits that the program sets itself. One on address space would count the recorder's shared memory, too, and leave the
 * program nothing: so unclaimed segments are unmapped then.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "export.h"
#include "next_malloc.h"
#include "os.h"
#include "recorder.h"

static bool ready(void)
{
	if (next_ready || next_resolve())
		return true;
	errno = EAGAIN;
	return false;
}

static void limited(pid_t pid, int resource, uint64_t most)
{
	if (resource == RLIMIT_AS && (pid == 0 || pid == (pid_t)os_pid()))
		recorder_leave_room(most);
}

/* Under their names for the linker: C libraries declare them with types of their own. */
EXPORT int set_limit(int resource, const struct rlimit *limit) __asm__("setrlimit");
EXPORT int set_limit_of(pid_t pid, int resource, const struct rlimit *limit,
			struct rlimit *old) __asm__("prlimit");

EXPORT int set_limit(int resource, const struct rlimit *limit)
{
	const int result = ready() ? next.setrlimit(resource, limit) : -1;

	if (result == 0)
		limited(0, resource, limit->rlim_cur);
	return result;
}

EXPORT int set_limit_of(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old)
{
	const int result = ready() ? next.prlimit(pid, resource, limit, old) : -1;

	if (result == 0 && limit)
		limited(pid, resource, limit->rlim_cur);
	return result;
}

_Static_assert(sizeof(struct rlimit) == 2 * sizeof(uint64_t), "as struct rlimit64");

EXPORT int set_limit_64(int resource, const struct rlimit *limit) __asm__("setrlimit64")
	__attribute__((alias("setrlimit")));
EXPORT int set_limit_of_64(pid_t pid, int resource, const struct rlimit *limit,
			   struct rlimit *old) __asm__("prlimit64") __attribute__((alias("prlimit")));
