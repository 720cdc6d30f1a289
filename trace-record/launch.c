/* SPDX-License-Identifier: MIT */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "entry_plan.h"
#include "program.h"

/* ---- finding ---- */

static bool is_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	if (!S_ISREG(st.st_mode)) {
		errno = EACCES;
		return false;
	}
	return access(path, X_OK) == 0;
}

static char *find_in_path(const char *name)
{
	const char *dirs = getenv("PATH");
	bool denied = false;

	if (!dirs)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	for (const char *dir = dirs; dir; dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
		const int n = (int)strcspn(dir, ":");
		char *path;

		if (asprintf(&path, "%.*s%s%s", n, dir, n ? "/" : "", name) < 0)
			return NULL;
		if (is_program(path))
			return path;
		denied |= errno == EACCES;
		free(path);
	}
	errno = denied ? EACCES : ENOENT;
	return NULL;
}

char *launch_find(const char *name, int *status)
{
	char *path;

	if (strchr(name, '/') || !*name)
		path = is_program(name) ? strdup(name) : NULL;
	else
		path = find_in_path(name);
	if (!path)
		*status = errno == ENOENT || errno == ENOTDIR ? LAUNCH_NOT_FOUND : LAUNCH_CANNOT_EXECUTE;
	return path;
}

/* ---- judging ---- */

/*
 * The loader ignores LD_PRELOAD when the program gains privileges. Scripts gain none, nor do programs of the user's own id;
 * but Valgrind runs no file with such a bit.
 */
static char *judge_privileges(int fd, bool exact)
{
	const char *const why =
		exact ? "Valgrind will not run it" : "the loader will not load the recorder into it";
	struct stat st;
	char *text;

	if (fstat(fd, &st) != 0)
		return NULL;
	if ((st.st_mode & S_ISUID && (exact || st.st_uid != geteuid())) ||
	    (st.st_mode & S_ISGID && (exact || st.st_gid != getegid())))
		return asprintf(&text, "is set-user-ID or set-group-ID: %s", why) < 0 ? NULL : text;
	if (fgetxattr(fd, "security.capability", NULL, 0) > 0 && (exact || geteuid() != 0))
		return asprintf(&text, "has file capabilities: %s", why) < 0 ? NULL : text;
	return NULL;
}

/* The interpreter of a script, from its first line after "#!". */
static char *judge_script(const char *line, bool exact, int depth, char **remark, struct entry_plan *plan);

static char *judge(const char *path, bool exact, int depth, char **remark, struct entry_plan *plan)
{
	char start[256] = { 0 };
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *objection = NULL;
	bool is_elf;
	ssize_t n;

	if (fd < 0)
		return NULL; /* executable but not readable: execve() decides */
	n = pread(fd, start, sizeof(start) - 1, 0);
	is_elf = n >= 4 && memcmp(start, "\177ELF", 4) == 0;
	if (is_elf)
		objection = program_objection(fd, exact, remark, plan);
	else if (n >= 2 && start[0] == '#' && start[1] == '!' && depth < 4)
		objection = judge_script(start + 2, exact, depth + 1, remark, plan);
	if (!objection && (is_elf || exact))
		objection = judge_privileges(fd, exact);
	close(fd);
	return objection;
}

static char *judge_script(const char *line, bool exact, int depth, char **remark, struct entry_plan *plan)
{
	const char *p = line + strspn(line, " \t");
	char *interpreter = strndup(p, strcspn(p, " \t\n"));
	char *objection = interpreter ? judge(interpreter, exact, depth, remark, plan) : NULL, *text;

	if (objection) {
		if (asprintf(&text, "is a script for %s, which %s", interpreter, objection) < 0)
			text = NULL;
		free(objection);
		objection = text;
	}
	free(interpreter);
	return objection;
}

/* A sanitizer in LD_PRELOAD refuses to start behind the recorder. */
static char *judge_preloads(void)
{
	static const char *const sanitizers[][2] = {
		{ "libasan.so", "AddressSanitizer" },
		{ "libhwasan.so", "HWAddressSanitizer" },
		{ "libtsan.so", "ThreadSanitizer" },
		{ "libclang_rt.asan", "AddressSanitizer" },
		{ "libclang_rt.hwasan", "HWAddressSanitizer" },
		{ "libclang_rt.tsan", "ThreadSanitizer" },
	};
	const char *list = getenv("LD_PRELOAD");
	char *text;

	for (size_t i = 0; list && i < sizeof(sanitizers) / sizeof(*sanitizers); i++) {
		if (strstr(list, sanitizers[i][0]))
			return asprintf(
				       &text,
				       "would run with %s (LD_PRELOAD), which replaces malloc and bears no recorder "
				       "beside it",
				       sanitizers[i][1]) < 0
				       ? NULL
				       : text;
	}
	return NULL;
}

char *launch_objection(const char *path, bool exact, char **remark, struct entry_plan *plan)
{
	char *const objection = exact ? NULL : judge_preloads();

	*remark = NULL;
	*plan = (struct entry_plan){ 0 };
	return objection ? objection : judge(path, exact, 0, remark, plan);
}

/* ---- shells ---- */

static bool is_shell(const char *path)
{
	static const char *const names[] = { "ash", "bash", "csh", "dash", "fish",
					     "ksh", "mksh", "sh",  "tcsh", "zsh" };
	char *real = realpath(path, NULL);
	const char *name = real ? real : path;
	bool shell = false;

	if (strrchr(name, '/'))
		name = strrchr(name, '/') + 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		shell |= strcmp(name, names[i]) == 0;
	free(real);
	return shell;
}

/* Of a script's first line, behind "#!": the interpreter's name, or that of what env(1) is to find. */
static bool names_shell(char *line)
{
	char *save, *word = strtok_r(line, " \t\n", &save);
	const size_t n = word ? strlen(word) : 0;

	if (n >= 4 && strcmp(word + n - 4, "/env") == 0)
		word = strtok_r(NULL, " \t\n", &save);
	return word && is_shell(word);
}

bool launch_runs_shell(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char start[256] = { 0 };
	ssize_t n;

	if (fd < 0)
		return false;
	n = pread(fd, start, sizeof(start) - 1, 0);
	close(fd);
	if (n >= 2 && start[0] == '#' && start[1] == '!') {
		start[2 + strcspn(start + 2, "\n")] = 0;
		return names_shell(start + 2);
	}
	return is_shell(path);
}

/* ---- starting ---- */

static int add_environment(const char *preload, const char *variable, const char *value)
{
	const char *present = getenv("LD_PRELOAD");
	char *list;
	int err;

	if (!preload)
		return 0;
	if (present && *present) {
		if (asprintf(&list, "%s:%s", preload, present) < 0)
			return -1;
	} else {
		list = strdup(preload);
	}
	if (!list)
		return -1;
	err = setenv("LD_PRELOAD", list, 1);
	free(list);
	return err ? err : setenv(variable, value, 1);
}

/* The child: waits for a byte, becomes the program, or reports why it could not. */
__attribute__((noreturn)) static void become(int gate, int report, const char *path, char **argv)
{
	char byte;
	int err;

	if (read(gate, &byte, 1) == 1) {
		execv(path, argv);
		if (errno == ENOEXEC) {
			/* A script without "#!": the shell runs it. */
			size_t n = 0;
			char **with_shell;

			while (argv[n])
				n++;
			with_shell = calloc(n + 2, sizeof(*with_shell));
			if (with_shell) {
				with_shell[0] = (char *)"/bin/sh";
				with_shell[1] = (char *)path;
				memcpy(with_shell + 2, argv + 1, n * sizeof(*argv));
				execv(with_shell[0], with_shell);
			}
		}
		err = errno;
		(void)!write(report, &err, sizeof(err));
	}
	_exit(LAUNCH_CANNOT_EXECUTE);
}

int launch_start(struct launch *launch, const char *path, char **argv, const char *preload,
		 const char *variable, const char *value)
{
	int gate[2], report[2];

	if (pipe2(gate, O_CLOEXEC) != 0)
		return -1;
	if (pipe2(report, O_CLOEXEC) != 0) {
		close(gate[0]);
		close(gate[1]);
		return -1;
	}
	launch->pid = fork();
	if (launch->pid == 0) {
		close(gate[1]);
		close(report[0]);
		if (add_environment(preload, variable, value) != 0)
			_exit(LAUNCH_FAILED);
		become(gate[0], report[1], path, argv);
	}
	close(gate[0]);
	close(report[1]);
	launch->gate = gate[1];
	launch->report = report[0];
	if (launch->pid < 0) {
		close(gate[1]);
		close(report[0]);
		return -1;
	}
	return 0;
}

int launch_go(struct launch *launch)
{
	int err;

	/* If the write fails the child has died; waitpid() will say how. */
	(void)!write(launch->gate, "", 1);
	close(launch->gate);
	/* A successful execve() closes the other end: then there is nothing to read. */
	if (read(launch->report, &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(launch->report);
	if (err)
		waitpid(launch->pid, NULL, 0);
	return err;
}

void launch_cancel(struct launch *launch)
{
	close(launch->gate);
	close(launch->report);
	waitpid(launch->pid, NULL, 0);
}
