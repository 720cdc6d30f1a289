/* SPDX-License-Identifier: MIT */
#include "report_child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "free_name.h"
#include "install_paths.h"

/* The name with another end than ".zst". To be freed; NULL: no memory. */
static char *with_end(const char *trace, const char *end)
{
	const size_t n = strlen(trace);
	const size_t kept = n > 4 && strcmp(trace + n - 4, ".zst") == 0 ? n - 4 : n;
	char *name;
	return asprintf(&name, "%.*s.%s", (int)kept, trace, end) < 0 ? NULL : name;
}

static bool is_taken(const void *end, const char *trace)
{
	char *name = with_end(trace, end);
	const bool taken = !name || faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	free(name);
	return taken;
}

/* A free name beside the trace: app.html, app-2.html ... To be freed; NULL: no memory. */
static char *name_report(const char *trace, const char *end)
{
	char *zst = with_end(trace, "zst"), *free_one = zst ? name_free(zst, is_taken, end) : NULL;
	char *name = free_one ? with_end(free_one, end) : NULL;
	free(zst);
	free(free_one);
	return name;
}

/* In the child: text goes to the file, all messages to nowhere. */
static void become_msreport(const char *program, const struct report_child *child, const char *html)
{
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int to =
		child->text ? open(child->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : nothing;
	unsetenv("MSREPORT_OPTS");
	if (nothing < 0 || to < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0 ||
	    dup2(nothing, STDERR_FILENO) < 0)
		_exit(127);
	execl(program, program, "-q", child->text ? "--format=text" : html, "--", child->trace, (char *)NULL);
	_exit(127);
}

static bool start(struct report_child *child)
{
	static const char *const places[] = { "msreport", "../analyze/msreport" };
	char *program = install_path_find(places, sizeof(places) / sizeof(*places), X_OK);
	char *html = NULL;
	child->path = program ? name_report(child->trace, child->text ? "txt" : "html") : NULL;
	if (child->path && asprintf(&html, "--html=%s", child->path) < 0)
		html = NULL;
	child->pid = html ? fork() : -1;
	if (child->pid == 0)
		become_msreport(program, child, html);
	free(program);
	free(html);
	if (child->pid > 0)
		return true;
	free(child->path);
	*child = (struct report_child){ 0 };
	return false;
}

bool report_child_start(struct report_child *child, const char *trace)
{
	if (child->pid)
		return false;
	*child = (struct report_child){ .trace = trace };
	return start(child);
}

bool report_child_is_done(struct report_child *child, char **path)
{
	int status;
	*path = NULL;
	if (child->pid == 0 || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return false;
	const bool fine = WIFEXITED(status) && WEXITSTATUS(status) <= 1;
	const struct report_child again = { .trace = child->trace, .text = true };
	const bool was_text = child->text;
	if (fine)
		*path = child->path;
	else
		free(child->path);
	*child = (struct report_child){ 0 };
	if (fine || was_text)
		return true;
	*child = again;
	return !start(child);
}

void report_child_finish(struct report_child *child)
{
	if (child->pid) {
		kill(child->pid, SIGTERM);
		waitpid(child->pid, NULL, 0);
	}
	free(child->path);
	*child = (struct report_child){ 0 };
}
