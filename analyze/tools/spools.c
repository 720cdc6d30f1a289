/* SPDX-License-Identifier: MIT */
#include "spools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "file.h"

/* An input that can be opened once. */
struct spool {
	char *path;
	int fd; /* a file: the copy, or standard input */
	off_t start;
};

static const struct spool *find(const struct spools *spools, const char *path)
{
	for (size_t i = 0; i < spools->n; i++) {
		if (strcmp(spools->items[i].path, path) == 0)
			return &spools->items[i];
	}
	return NULL;
}

/* Copies a pipe to a file without a name. -1 with errno. */
static int copy(int from)
{
	uint8_t bytes[1 << 16];
	ssize_t n;
	const int fd = file_unnamed();
	if (fd < 0)
		return -1;
	while ((n = read(from, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0 && !file_write(fd, bytes, (size_t)n)) {
			n = -1;
			break;
		}
	}
	if (n == 0)
		return fd;
	const int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int open_again(const struct spool *spool)
{
	return lseek(spool->fd, spool->start, SEEK_SET) < 0 ? -1 : fcntl(spool->fd, F_DUPFD_CLOEXEC, 3);
}

/* What `input` has, as often as is wanted; closes it unless it is standard input. -1 with errno. */
static int spool(struct spools *spools, const char *path, int input)
{
	struct spool entry = { .path = strdup(path), .fd = input, .start = lseek(input, 0, SEEK_CUR) };
	if (!entry.path || !array_reserve(&spools->items, spools->n, &spools->room, sizeof(*spools->items)))
		entry.fd = -1;
	else if (entry.start < 0)
		entry = (struct spool){ .path = entry.path, .fd = copy(input) };
	const int error = errno;
	if (input != STDIN_FILENO)
		close(input);
	errno = error;
	if (entry.fd < 0) {
		free(entry.path);
		return -1;
	}
	spools->items[spools->n++] = entry;
	return open_again(&entry);
}

int spools_open(struct spools *spools, const struct tool *tool, const char *path)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	const struct spool *known = find(spools, path);
	if (known)
		return open_again(known);
	const int input = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (input < 0) {
		tool_error(tool, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (!is_stdin && lseek(input, 0, SEEK_CUR) >= 0)
		return input;
	const int fd = spool(spools, path, input);
	if (fd < 0)
		tool_input_error(tool, is_stdin ? "standard input" : path, errno);
	return fd;
}

void spools_finish(struct spools *spools)
{
	for (size_t i = 0; i < spools->n; i++) {
		if (spools->items[i].fd != STDIN_FILENO)
			close(spools->items[i].fd);
		free(spools->items[i].path);
	}
	free(spools->items);
	*spools = (struct spools){ 0 };
}
