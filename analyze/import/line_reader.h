/* SPDX-License-Identifier: MIT */
/*
 * Lines of a text file that may be compressed, by gzip or zstd; found out by its content. A file is
 * hostile input: no line is longer than UNPACK_LINE_MOST, and memory doesn't grow with the file.
 */
#ifndef ANALYZE_LINE_READER_H
#define ANALYZE_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define UNPACK_LINE_MOST ((size_t)2 << 20)

struct line_reader;

/* Reads `fd`, which stays the caller's, from its present position. NULL: no memory. */
struct line_reader *line_reader_create(int fd);
void line_reader_destroy(struct line_reader *reader); /* NULL is allowed */

enum line_reader_result {
	LINE_READER_LINE = 1,
	LINE_READER_END = 0,
	LINE_READER_CUT = -1,      /* the compressed data or the last line end too early, or are damaged */
	LINE_READER_TOO_LONG = -2, /* a line */
	LINE_READER_NOMEM = -3,
	LINE_READER_IO = -4, /* errno has it */
};

/* The next line, without its end and with a NUL instead; valid until the next call. */
enum line_reader_result line_reader_line(struct line_reader *reader, char **line, size_t *n);

/* The first bytes, unpacked: up to `size`, fewer at the end or when they can't be read. */
size_t line_reader_head(int fd, char *head, size_t size);

#endif
