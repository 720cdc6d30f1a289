/* SPDX-License-Identifier: MIT */
/*
 * The calls by which a program names its threads. The kernel keeps the names; those given in other ways msrec reads from
 * /proc.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "export.h"
#include "next_malloc.h"
#include "recorder.h"
#include "thread_lookup.h"

static bool ready(void)
{
	return next_ready || next_resolve();
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	const int result = ready() && next.setname ? next.setname((uintptr_t)thread, name) : ENOSYS;

	if (result == 0)
		recorder_thread_name((uintptr_t)thread, name);
	return result;
}

EXPORT int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	va_list args;
	int result;

	va_start(args, option);
	a = va_arg(args, unsigned long);
	b = va_arg(args, unsigned long);
	c = va_arg(args, unsigned long);
	d = va_arg(args, unsigned long);
	va_end(args);
	if (!ready()) {
		errno = EAGAIN;
		return -1;
	}
	result = next.prctl(option, a, b, c, d);
	if (option == PR_SET_NAME && result == 0)
		recorder_thread_name(thread_pointer(), (const char *)a);
	return result;
}
