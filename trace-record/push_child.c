/* SPDX-License-Identifier: MIT */
#include "push_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit_status.h"

extern char **environ;

/* Whether two "NAME=value" have one name. */
static bool is_same_name(const char *a, const char *b)
{
	const size_t n = strcspn(b, "=");

	return strncmp(a, b, n) == 0 && a[n] == '=';
}

/* A library that was meant for the program would be loaded into what msrec runs, too. */
static bool is_inherited(const char *pair, const char *const *more)
{
	size_t i = 0;

	while (more[i] && !is_same_name(pair, more[i]))
		i++;
	return !more[i] && !is_same_name(pair, "LD_PRELOAD");
}

/* The array is to be freed, its texts are not. NULL: no memory. */
static const char **make_environment(const char *const *more)
{
	size_t n = 0, n_more = 0;
	const char **env;

	while (environ[n])
		n++;
	while (more[n_more])
		n_more++;
	env = calloc(n + n_more + 1, sizeof(*env));
	n = 0;
	for (char **pair = environ; env && *pair; pair++) {
		if (is_inherited(*pair, more))
			env[n++] = *pair;
	}
	if (env)
		memcpy(env + n, more, n_more * sizeof(*more));
	return env;
}

/* msrec ignores signals that a terminal sends, and those of broken pipes; children begin as others do. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, defaults;

	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_setpgroup(attributes, 0);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &defaults);
	return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
							    POSIX_SPAWN_SETSIGDEF);
}

static int set_stream(posix_spawn_file_actions_t *actions, int fd, int stream)
{
	return fd < 0 ? posix_spawn_file_actions_addopen(actions, stream, "/dev/null",
							 stream == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0)
		      : posix_spawn_file_actions_adddup2(actions, fd, stream);
}

/* The parent stands still until the program is executed, so that no other process is seen with the shared memory. */
static int spawn_with(struct push_child *child, const struct push_spawn *spawn, const char **env)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	err = posix_spawnattr_init(&attributes);
	if (err) {
		posix_spawn_file_actions_destroy(&actions);
		return err;
	}
	err = set_attributes(&attributes);
	if (!err)
		err = set_stream(&actions, spawn->in, STDIN_FILENO);
	if (!err)
		err = set_stream(&actions, spawn->out, STDOUT_FILENO);
	if (!err)
		err = posix_spawn(&child->pid, spawn->path, &actions, &attributes, (char *const *)spawn->argv,
				  (char *const *)env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

int push_child_start(struct push_child *child, const struct push_spawn *spawn, uint64_t deadline_ns)
{
	const char **env = make_environment(spawn->more);
	int err;

	assert(!child->pid);
	if (!env)
		return ENOMEM;
	*child = (struct push_child){ .deadline_ns = deadline_ns };
	err = spawn_with(child, spawn, env);
	free(env);
	if (err)
		child->pid = 0;
	else if (spawn->nice)
		setpriority(PRIO_PROCESS, (id_t)child->pid, getpriority(PRIO_PROCESS, 0) + spawn->nice);
	return err;
}

bool push_child_ended(struct push_child *child, uint64_t now_ns, int *status)
{
	const pid_t got = waitpid(child->pid, status, WNOHANG);

	if (got == 0 && now_ns >= child->deadline_ns) {
		child->late = true;
		kill(-child->pid, SIGKILL);
	}
	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	if (got < 0)
		*status = exit_status_of(127);
	child->pid = 0;
	return true;
}

void push_child_cancel(struct push_child *child)
{
	int status;

	if (!child->pid)
		return;
	kill(-child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
}
