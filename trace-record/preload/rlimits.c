/* SPDX-License-Identifier: MIT */
/*
 * Limits that the program sets itself. One on address space would count the recorder's shared memory, too, and leave the
 * program nothing: so unclaimed segments are unmapped then.
 */
#undef _FILE_OFFSET_BITS /* or setrlimit would be another name for setrlimit64, and both are wanted */
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

static int set_limit(int resource, const struct rlimit *limit)
{
	const int result = ready() ? next.setrlimit(resource, limit) : -1;

	if (result == 0)
		limited(0, resource, limit->rlim_cur);
	return result;
}

static int set_limit_of(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old)
{
	const int result = ready() ? next.prlimit(pid, resource, limit, old) : -1;

	if (result == 0 && limit)
		limited(pid, resource, limit->rlim_cur);
	return result;
}

_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "of 64 bits each");

EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return set_limit(resource, limit);
}

EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return set_limit(resource, (const struct rlimit *)limit);
}

EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit, struct rlimit *old)
{
	return set_limit_of(pid, resource, limit, old);
}

EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
		     struct rlimit64 *old)
{
	return set_limit_of(pid, resource, (const struct rlimit *)limit, (struct rlimit *)old);
}
