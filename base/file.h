/* SPDX-License-Identifier: MIT */
/* Bytes from and to files, all of them or an error. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: they are not all there. */
bool file_read_at(int fd, uint64_t at, void *data, size_t size);

/* False: only some of them may be written. */
bool file_write_at(int fd, uint64_t at, const void *data, size_t size);

/* False with errno: only some of them may be written. */
bool file_write(int fd, const uint8_t *data, size_t size);

/* One without a name in $TMPDIR or /tmp, for reading and writing; it is gone when it is closed. -1 with errno. */
int file_unnamed(void);

/*
 * Writes a file anew: `write` fills a temporary file beside `path`, called path.XXXXXX, which then takes the file's place,
 * whole. False: the file is as before, and the temporary one is gone.
 */
bool file_replace(const char *path, bool (*write)(void *context, int fd), void *context);

#endif
