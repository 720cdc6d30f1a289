/* SPDX-License-Identifier: MIT */
/*
 * The functions that execute programs. msrec learns that this one ends here, and, with --trace-children, that the next cannot be
 * recorded: such a program does not find the recorder in its environment if it could not bear it.
 *
 * A child of vfork() may call these: nothing is allocated, and what is changed in memory is this process's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child_filter.h"
#include "export.h"
#include "next_malloc.h"
#include "process_state.h"
#include "program_file.h"
#include "skips.h"

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags);

#define PATH_BYTES 4096u
#define VARIABLES 32768u /* in a longer environment the recorder stays */

/* A program to be executed, by one of the functions below. */
struct execution {
	int (*run)(const struct execution *e, char *const env[]);
	int dir;
	const char *file;
	bool searched; /* by PATH, unless there is a slash in it */
	bool spawned;  /* by a process that goes on */
	char *const *argv;
	int fd, flags;
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

/* ---- the environment ---- */

static const char *value_of(const char *variable, const char *name)
{
	const size_t n = strlen(name);

	return strncmp(variable, name, n) == 0 && variable[n] == '=' ? variable + n + 1 : NULL;
}

/* The libraries of LD_PRELOAD behind the recorder's own, which come first. */
static const char *behind_ours(const char *list)
{
	for (;;) {
		const size_t n = strcspn(list, ": ");

		if (!memmem(list, n, "/libmsrec", 9))
			return list;
		list += n + strspn(list + n, ": ");
	}
}

/* What an environment says of the recorder. */
struct surroundings {
	size_t n;                       /* variables */
	const char *memory, *libraries; /* values of SHM_ENV and of LD_PRELOAD; NULL: not there */
	bool preload;                   /* the recorder is among the libraries */
	bool sanitizer;                 /* and a sanitizer */
};

static bool lists_sanitizer(const char *list)
{
	for (const char *name = list; *list; list++) {
		if (strchr("/: ", *list))
			name = list + 1;
		else if (name == list && program_file_is_sanitizer(name))
			return true;
	}
	return false;
}

static struct surroundings look_around(char *const env[])
{
	struct surroundings s = { 0 };

	for (; env && env[s.n]; s.n++) {
		const char *const list = value_of(env[s.n], "LD_PRELOAD");

		if (!s.memory)
			s.memory = value_of(env[s.n], SHM_ENV);
		if (list && !s.libraries)
			s.libraries = list;
		s.preload |= list && behind_ours(list) != list;
		s.sanitizer |= list && lists_sanitizer(list);
	}
	return s;
}

static bool opens(const char *path, int flags)
{
	const long fd = os_open(path, flags | O_CLOEXEC);

	if (fd >= 0)
		os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	return fd >= 0;
}

/* Whether the recorder's libraries, which come first in the list, can be read here. */
static bool loadable(const char *list)
{
	const char *const end = behind_ours(list);
	char path[PATH_BYTES];

	while (list < end) {
		const size_t n = strcspn(list, ": ");

		if (n >= sizeof(path))
			return false;
		memcpy(path, list, n);
		path[n] = 0;
		if (!opens(path, O_RDONLY))
			return false;
		list += n + strspn(list + n, ": ");
	}
	return true;
}

/*
 * Whether a program executed here may open msrec's memory, /proc/PID/fd/N: that takes msrec's user and group, or root. This
 * process may have capabilities still that the program will not have.
 */
static bool reachable(const char *memory)
{
	const uint32_t user = (uint32_t)os_call6(SYS_geteuid, 0, 0, 0, 0, 0, 0),
		       group = (uint32_t)os_call6(SYS_getegid, 0, 0, 0, 0, 0, 0);
	char process[sizeof("/proc/") + OS_DIGITS];
	const size_t n = strspn(memory, "/proc0123456789");
	struct stat st;

	if (!opens(memory, O_RDWR) || n == 0 || n > sizeof(process))
		return false;
	memcpy(process, memory, n);
	process[n - 1] = 0; /* a slash */
	return user == 0 || (os_call6(SYS_newfstatat, AT_FDCWD, (long)process, (long)&st, 0, 0, 0) == 0 &&
			     st.st_uid == user && st.st_gid == group);
}

/* Whether the program will find the recorder, load it, and reach msrec's memory: 0, or why not. */
static unsigned obstacle(const struct surroundings *around)
{
	if (!around->memory || !around->preload)
		return SHM_SKIP_ENVIRONMENT;
	if (around->sanitizer)
		return SHM_SKIP_SANITIZER;
	if (!loadable(around->libraries))
		return SHM_SKIP_LOADER;
	return reachable(around->memory) ? 0 : SHM_SKIP_MEMORY;
}

/* Executes the program without the recorder in its environment, which has `n` variables. */
static int run_without_recorder(const struct execution *e, char *const env[], size_t n)
{
	char **const kept = __builtin_alloca((n + 1) * sizeof(*kept)), *preload;
	const char *rest = "";
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		const char *const list = value_of(env[i], "LD_PRELOAD");

		if (list)
			rest = behind_ours(list);
		else if (!value_of(env[i], SHM_ENV))
			kept[k++] = env[i];
	}
	if (*rest) {
		preload = __builtin_alloca(sizeof("LD_PRELOAD=") + strlen(rest));
		strcpy(stpcpy(preload, "LD_PRELOAD="), rest);
		kept[k++] = preload;
	}
	kept[k] = NULL;
	return e->run(e, kept);
}

/* ---- the program ---- */

/* The file that PATH leads to; NULL: none, or its name is too long. */
static const char *search(const char *name, char found[PATH_BYTES])
{
	const char *dirs = getenv("PATH");

	for (const char *dir = dirs ? dirs : "/bin:/usr/bin"; dir;
	     dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
		const size_t n = strcspn(dir, ":");

		if (n + strlen(name) + 2 > PATH_BYTES)
			continue;
		memcpy(found, dir, n);
		found[n] = '/';
		strcpy(found + n + (n > 0), name);
		if (program_file_executable(AT_FDCWD, found))
			return found;
	}
	return NULL;
}

/* 0, or why the program will not be recorded, which is noted for msrec. */
static unsigned examine(const struct execution *e, const struct surroundings *around)
{
	char found[PATH_BYTES];
	struct program_file file = { .dir = e->dir, .path = e->file };
	unsigned reason;
	bool wanted;

	if (e->searched && !strchr(e->file, '/'))
		file.path = search(e->file, found);
	else if (!program_file_executable(e->dir, e->file))
		file.path = NULL;
	if (!file.path)
		return 0;
	wanted = child_filter_wants(the_process.family, file.path);
	reason = program_file_judge(&file);
	if (!reason)
		reason = obstacle(around);
	if (reason && wanted)
		skips_report(the_process.family, reason, file.path);
	return reason;
}

/* A child of vfork() has its parent's memory, and its parent goes on. */
static void note_executing(bool now)
{
	struct process *p = process_now();

	if (!p || p->pid != os_pid())
		return;
	if (now)
		process_note_ended_threads(p);
	atomic_store(&p->segment->executing, now);
}

static int execute(const struct execution *e, char *const env[])
{
	const struct shm_family *family = the_process.family;
	const int saved = errno;
	unsigned reason = 0;
	struct surroundings around = { 0 };
	int result;

	if (!next_ready && !next_resolve())
		return e->spawned ? EAGAIN : (errno = EAGAIN, -1);
	if (family && family->trace_children) {
		around = look_around(env);
		reason = examine(e, &around);
	}
	if (!e->spawned)
		note_executing(true);
	errno = saved;
	result = program_file_refuses(reason) && around.n <= VARIABLES
			 ? run_without_recorder(e, env, around.n)
			 : e->run(e, env);
	if (!e->spawned)
		note_executing(false);
	return result;
}

/* ---- exec ---- */

static int run_path(const struct execution *e, char *const env[])
{
	return next.execve(e->file, e->argv, env);
}

static int run_searched(const struct execution *e, char *const env[])
{
	return next.execvpe(e->file, e->argv, env);
}

static int execute_path(const char *path, char *const argv[], char *const env[])
{
	return execute(&(struct execution){ .run = run_path, .dir = AT_FDCWD, .file = path, .argv = argv },
		       env);
}

static int execute_searched(const char *file, char *const argv[], char *const env[])
{
	return execute(
		&(struct execution){
			.run = run_searched, .dir = AT_FDCWD, .file = file, .searched = true, .argv = argv },
		env);
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	return execute_path(path, argv, env);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execute_path(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
	return execute_searched(file, argv, env);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execute_searched(file, argv, environ);
}

static int run_fd(const struct execution *e, char *const env[])
{
	return next.fexecve(e->fd, e->argv, env);
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	char link[sizeof("/proc/self/fd/") + OS_DIGITS] = "/proc/self/fd/", path[SHM_SKIP_PATH];
	struct execution e = { .run = run_fd, .dir = AT_FDCWD, .file = link, .argv = argv, .fd = fd };
	long n;

	*os_put_number(link + strlen(link), (uint32_t)fd) = 0;
	n = os_read_link(link, path, sizeof(path) - 1);
	if (n > 0) {
		path[n] = 0;
		/* Unless the file has been deleted. */
		if (program_file_executable(AT_FDCWD, path))
			e.file = path;
	}
	return execute(&e, env);
}

static int run_at(const struct execution *e, char *const env[])
{
	return next.execveat(e->dir, e->file, e->argv, env, e->flags);
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
	if ((next_ready || next_resolve()) && !next.execveat) {
		errno = ENOSYS;
		return -1;
	}
	return execute(
		&(struct execution){ .run = run_at, .dir = dir, .file = path, .argv = argv, .flags = flags },
		env);
}

/* ---- lists of arguments ---- */

/* Arguments from `first` up to NULL, and that. */
static size_t count_arguments(const char *first, va_list *rest)
{
	size_t n = 1;

	for (const char *arg = first; arg; arg = va_arg(*rest, const char *))
		n++;
	return n;
}

static void take_arguments(const char **argv, const char *first, va_list *rest)
{
	*argv = first;
	while (*argv)
		*++argv = va_arg(*rest, const char *);
}

/*
 * Makes `argv` of the arguments behind `first`, in the caller's frame; `list` then stands behind their NULL.
 */
#define TAKE_ARGUMENTS(argv, first, list)                                                                    \
	do {                                                                                                 \
		va_start(list, first);                                                                       \
		(argv) = __builtin_alloca(count_arguments(first, &(list)) * sizeof(*(argv)));                \
		va_end(list);                                                                                \
		va_start(list, first);                                                                       \
		take_arguments(argv, first, &(list));                                                        \
	} while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
	const char **argv;
	va_list list;
	int result;

	TAKE_ARGUMENTS(argv, first, list);
	result = execute_path(path, (char *const *)argv, environ);
	va_end(list);
	return result;
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	const char **argv;
	va_list list;
	int result;

	TAKE_ARGUMENTS(argv, first, list);
	result = execute_searched(file, (char *const *)argv, environ);
	va_end(list);
	return result;
}

EXPORT int execle(const char *path, const char *first, ...)
{
	const char **argv;
	va_list list;
	int result;

	TAKE_ARGUMENTS(argv, first, list);
	result = execute_path(path, (char *const *)argv, va_arg(list, char *const *));
	va_end(list);
	return result;
}

/* ---- spawn ---- */

static int run_spawn(const struct execution *e, char *const env[])
{
	return (e->searched ? next.posix_spawnp : next.posix_spawn)(e->pid, e->file, e->actions,
								    e->attributes, e->argv, env);
}

static int spawn(bool searched, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
	return execute(
		&(struct execution){
			.run = run_spawn,
			.dir = AT_FDCWD,
			.file = file,
			.searched = searched,
			.spawned = true,
			.argv = argv,
			.pid = pid,
			.actions = actions,
			.attributes = attributes,
		},
		env);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
	return spawn(false, pid, path, actions, attributes, argv, env);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
	return spawn(true, pid, file, actions, attributes, argv, env);
}
