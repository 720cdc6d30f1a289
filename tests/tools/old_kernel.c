/* SPDX-License-Identifier: MIT */
/* Preloaded into msrec: as on a kernel before 6.15, no pidfd says how its process ended. */
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIDFD_TYPE 0xffu /* of ioctl()s of pidfds */

int ioctl(int fd, unsigned long request, ...)
{
	va_list more;
	void *argument;

	va_start(more, request);
	argument = va_arg(more, void *);
	va_end(more);
	if ((request >> 8 & 0xff) != PIDFD_TYPE)
		return (int)syscall(SYS_ioctl, fd, request, argument);
	errno = ENOTTY;
	return -1;
}
