/* SPDX-License-Identifier: MIT */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary name, static so that a signal handler can read it even if the heap is corrupt; valid while `is_there`. */
static char temporary[PATH_MAX];
static atomic_bool is_there;

static void remove_unfinished(void)
{
	if (atomic_load(&is_there))
		unlink(temporary);
}

/* SA_RESETHAND: the signal raised here stays pending until the handler returns, then ends the process. */
static void remove_and_die(int signal_number)
{
	remove_unfinished();
	raise(signal_number);
}

/* Libraries that read debug information call exit() when out of memory. */
static bool watch_exit(void)
{
	static bool watched;
	watched = watched || atexit(remove_unfinished) == 0;
	return watched;
}

/* Handlers replace the default action only; ignored and handled signals keep theirs. */
static void watch_signals(void)
{
	static const int fatal[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ };
	const struct sigaction action = { .sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND };
	struct sigaction old;
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(fatal[i], &action, NULL);
}

static void forget(struct output_file *file)
{
	atomic_store(&is_there, false);
	free(file->path);
	*file = (struct output_file){ .fd = -1 };
}

/* The temporary name doesn't contain the target's, so it is never too long for the directory. */
static int create_beside(struct output_file *file, mode_t mode)
{
	const char *slash = strrchr(file->path, '/');
	int directory = slash ? (int)(slash + 1 - file->path) : 0;
	if (!watch_exit())
		return -ENOMEM;
	watch_signals();
	for (unsigned i = 0; i < 1000; i++) {
		if (snprintf(temporary, sizeof(temporary), "%.*s.ms-%ld-%u.tmp", directory, file->path,
			     (long)getpid(), i) >= (int)sizeof(temporary))
			return -ENAMETOOLONG;
		file->fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		atomic_store(&is_there, file->fd >= 0);
		if (file->fd >= 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int open_target(struct output_file *file, const char *name, mode_t mode)
{
	if (strcmp(name, "-") == 0) {
		file->fd = STDOUT_FILENO;
		return 0;
	}
	struct stat st;
	bool exists = stat(name, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		file->fd = open(name, O_WRONLY | O_CLOEXEC);
		return file->fd < 0 ? -errno : 0;
	}
	file->path = exists ? realpath(name, NULL) : strdup(name);
	int error = file->path ? create_beside(file, mode) : -errno;
	if (error)
		forget(file);
	return error;
}

int output_file_begin(struct output_file *file, const char *name, mode_t mode, enum packing packing)
{
	*file = (struct output_file){ .fd = -1 };
	const int error = open_target(file, name, mode);
	if (error)
		return error;
	file->out = out_create_packed(file->fd, packing);
	if (file->out)
		return 0;
	output_file_abort(file);
	return -ENOMEM;
}

int output_file_commit(struct output_file *file)
{
	int error = -out_finish(file->out);
	file->out = NULL;
	if (error) {
		output_file_abort(file);
		return error;
	}
	if (file->fd != STDOUT_FILENO && close(file->fd) != 0)
		error = -errno;
	if (!error && file->path && rename(temporary, file->path) != 0)
		error = -errno;
	if (error && file->path)
		unlink(temporary);
	forget(file);
	return error;
}

void output_file_abort(struct output_file *file)
{
	if (file->out)
		out_finish(file->out);
	if (file->fd != STDOUT_FILENO)
		close(file->fd);
	if (file->path)
		unlink(temporary);
	forget(file);
}
