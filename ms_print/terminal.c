/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include "printable.h"

#include <unistd.h>

static ssize_t write_shown(void *to, const char *text, size_t size)
{
	printable_lines(to, text, size);
	return ferror((FILE *)to) ? 0 : (ssize_t)size;
}

FILE *terminal_open(FILE *to)
{
	FILE *stream;

	if (!isatty(fileno(to)))
		return to;
	stream = fopencookie(to, "w", (cookie_io_functions_t){ .write = write_shown });
	/* A character in several bytes must come in one piece. */
	if (stream)
		setvbuf(stream, NULL, _IOLBF, 1 << 16);
	return stream;
}

bool terminal_close(FILE *stream, FILE *to)
{
	bool written = !ferror(stream);

	if (stream != to && fclose(stream) != 0)
		written = false;
	return fflush(to) == 0 && !ferror(to) && written;
}
