/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "printable.h"

#undef stderr /* streams.h may have another: here it is the C library's */

static FILE *terminal; /* NULL: nothing is escaped yet */

#ifndef __GLIBC__
static FILE *messages;

FILE *streams_messages(void)
{
	return messages ? messages : stderr;
}
#endif

static ssize_t write_shown(void *to, const char *text, size_t size)
{
	printable_lines(to, text, size);
	return ferror((FILE *)to) ? 0 : (ssize_t)size;
}

static void escape_messages(void)
{
	FILE *shown = fopencookie(stderr, "w", (cookie_io_functions_t){ .write = write_shown });

	if (!shown)
		return;
	setvbuf(shown, NULL, _IONBF, 0);
	terminal = stderr;
#ifdef __GLIBC__
	stderr = shown;
#else
	messages = shown;
#endif
}

void streams_hold(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	}
	escape_messages();
}

FILE *streams_terminal(void)
{
	return terminal ? terminal : stderr;
}
