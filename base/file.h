/* SPDX-License-Identifier: MIT */
/* Bytes from and to files: all of them, or an error. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: the file does not have them all, or an error. */
bool file_read_at(int fd, uint64_t at, void *data, size_t size);

/* False: some of the bytes may be written. */
bool file_write_at(int fd, uint64_t at, const void *data, size_t size);

/* False with errno: some of the bytes may be written. */
bool file_write(int fd, const uint8_t *data, size_t size);

/* The text of a file of at most `most` bytes, NUL-terminated, to be freed. NULL with errno; EFBIG: it is larger. */
char *file_text(const char *path, size_t most);

/*
 * Opens a file without a name in $TMPDIR or /tmp, for reading and writing; it is gone when it is closed. -1 with
 * errno.
 */
int file_unnamed(void);

/*
 * Replaces a file: `write` fills a temporary file beside it, path.XXXXXX, which is renamed when it is whole. False: the
 * file is as before, and the temporary one is removed.
 */
bool file_replace(const char *path, bool (*write)(void *context, int fd), void *context);

#endif
