/* SPDX-License-Identifier: MIT */
#include "run_check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_filter.h"
#include "finished_files.h"
#include "installed.h"
#include "messages.h"

#define WRONG_USAGE 64 /* msreport's status */

/* ---- msreport ---- */

/* The words of a command line; texts are the caller's but for `owned`. */
struct words {
	char **items;
	size_t n;
};

static bool add(struct words *w, const char *word)
{
	char **grown = reallocarray(w->items, w->n + 2, sizeof(*grown));
	char *copy = grown ? strdup(word) : NULL;

	w->items = grown ? grown : w->items;
	if (!copy)
		return false;
	w->items[w->n++] = copy;
	w->items[w->n] = NULL;
	return true;
}

static bool add_option(struct words *w, const char *option, const char *value)
{
	char *word;
	bool fine;

	if (!value)
		return true;
	if (asprintf(&word, "%s%s", option, value) < 0)
		return false;
	fine = add(w, word);
	free(word);
	return fine;
}

static void finish(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->items[i]);
	free(w->items);
	*w = (struct words){ 0 };
}

/* What all calls of msreport have in common. False: no memory, or no msreport. */
static bool begin(struct words *w, const struct check_options *options)
{
	char *program = installed_msreport();
	bool fine = program && add(w, program) && add(w, "--quiet");

	free(program);
	for (size_t i = 0; fine && i < options->n; i++)
		fine = add_option(w, "--check=", options->checks[i]);
	return fine && add_option(w, "--format=", options->format);
}

/* In the child: standard output goes to `to`. msrec ignores and catches signals; msreport is the terminal's again. */
__attribute__((noreturn)) static void become_msreport(const struct words *w, int to, int errors)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	unsetenv("LD_PRELOAD");
	setenv("MSREPORT_PAGER", "cat", 1);
	if (dup2(to, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0)
		execv(w->items[0], w->items);
	_exit(127);
}

/* Returns its exit status, or -1: it cannot be run, or a signal killed it. */
static int run_msreport(const struct words *w, int to, int errors)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		become_msreport(w, to, errors);
	while (pid > 0 && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- Before the run ---- */

/*
 * msreport without a trace looks at the limits alone. Mistakes of the command line are reported before the run; those
 * of the file, after it.
 */
bool check_prepare(const struct check_options *options)
{
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct words words = { 0 };
	bool fine = nothing >= 0 && begin(&words, options);

	if (!words.items)
		complain("--check: msreport is not installed beside this program");
	else if (!fine)
		complain("--check: %s", strerror(errno));
	else if (run_msreport(&words, nothing, nothing) == WRONG_USAGE)
		fine = run_msreport(&words, nothing, STDERR_FILENO) != WRONG_USAGE;
	if (nothing >= 0)
		close(nothing);
	finish(&words);
	return fine;
}

/* ---- After the run ---- */

/*
 * Whether a file is to be checked. Of the runner, PROGRAM, and its forked children there are traces though it may match no
 * pattern.
 */
static bool is_chosen(const struct check_run *run, const struct finished_files *files,
		      const struct finished_file *file)
{
	const struct finished_file *first = files->items;

	if (!run->only || child_filter_matches(run->only, run->program))
		return true;
	while (first < files->items + files->n && !first->main)
		first++;
	return first == files->items + files->n || strcmp(file->program, first->program) != 0;
}

/* A trace's name is never that of a section. */
static bool add_trace(struct words *w, const char *path)
{
	return add_option(w, strchr(path, '/') ? "" : "./", path);
}

/* False: no memory. *n: the traces. */
static bool add_traces(struct words *w, const struct check_run *run, const struct finished_files *files,
		       size_t *n)
{
	bool fine = add(w, "--");

	*n = 0;
	for (const struct finished_file *f = files->items; fine && f < files->items + files->n; f++) {
		if (!is_chosen(run, files, f))
			continue;
		fine = add_trace(w, f->path);
		(*n)++;
	}
	return fine;
}

/* With --quiet the report is shown only if there is something to say: it goes to a file in memory first. */
static int report(const struct words *w, bool quiet)
{
	const int memory = quiet ? memfd_create("report", MFD_CLOEXEC) : -1;
	const int status = run_msreport(w, memory < 0 ? STDERR_FILENO : memory, STDERR_FILENO);
	const off_t size = memory < 0 ? 0 : lseek(memory, 0, SEEK_END);
	off_t from = 0;

	while (status != 0 && from < size &&
	       sendfile(STDERR_FILENO, memory, &from, (size_t)(size - from)) > 0)
		continue;
	if (memory >= 0)
		close(memory);
	return status;
}

static enum check_status check(const struct check_options *options, const struct check_run *run,
			       const struct finished_files *files)
{
	struct words words = { 0 };
	size_t n = 0;
	int status = -1;

	if (!begin(&words, options) || !add_option(&words, "--output=", options->output) ||
	    (options->update && !add(&words, "--update")) || !add_traces(&words, run, files, &n))
		complain("--check: %s", strerror(ENOMEM));
	else if (n == 0)
		complain("--check: no program was recorded that is to be checked");
	else if ((status = report(&words, run->verbosity == 0)) < 0)
		complain("--check: msreport was killed or cannot be run");
	finish(&words);
	return status == CHECK_WITHIN || status == CHECK_EXCEEDED ? (enum check_status)status
								  : CHECK_UNVERIFIED;
}

/* Why what the traces come to is not what the run did; NULL: it is. */
static const char *find_blindness(const struct check_run *run, const struct finished_files *files)
{
	bool executed = false;

	for (const struct finished_file *f = files->items; f < files->items + files->n; f++)
		executed = f->main ? f->executed : executed;
	if (run->blind || files->unseen)
		return "a program of this run was not recorded";
	return executed && !run->only ? "the program executed another one, which was not recorded" : NULL;
}

enum check_status check_traces(const struct check_options *options, const struct check_run *run)
{
	struct finished_files files;
	enum check_status status;
	const char *why;

	finished_files_read(&files);
	status = check(options, run, &files);
	why = find_blindness(run, &files);
	if (why && status == CHECK_WITHIN) {
		complain("--check: not verified: %s", why);
		status = CHECK_UNVERIFIED;
	}
	for (size_t i = 0; i < files.n && options->drop_passed && run->succeeded && status == CHECK_WITHIN;
	     i++)
		unlink(files.items[i].path);
	finished_files_finish(&files);
	return status;
}
