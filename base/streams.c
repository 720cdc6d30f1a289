/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "printable.h"

static FILE *terminal; /* NULL: stderr escapes nothing yet */

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
	stderr = shown;
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
