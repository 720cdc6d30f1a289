/* SPDX-License-Identifier: MIT */
#include "pipe_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "file.h"

static void *copy(void *context)
{
	struct pipe_spool *spool = context;
	static uint8_t data[1 << 16]; /* there is one standard input */
	for (;;) {
		const ssize_t n = read(spool->from, data, sizeof(data));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || !file_write(spool->to, data, (size_t)n))
			break;
		spool->bytes += (uint64_t)n;
	}
	fcntl(spool->to, F_OFD_SETLK, &(struct flock){ .l_type = F_UNLCK, .l_whence = SEEK_SET });
	spool->ended = true;
	return NULL;
}

int pipe_spool_begin(struct pipe_spool *spool, int from)
{
	sigset_t all, before;
	*spool = (struct pipe_spool){ .from = from, .to = file_unnamed() };
	if (spool->to < 0)
		return errno;
	if (fcntl(spool->to, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET }) != 0)
		return errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int error = pthread_create(&spool->thread, NULL, copy, spool);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		close(spool->to);
	return error;
}

int pipe_spool_open(const struct pipe_spool *spool)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", spool->to);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void pipe_spool_end(struct pipe_spool *spool)
{
	pthread_cancel(spool->thread);
	pthread_join(spool->thread, NULL);
	close(spool->to);
}
