/* SPDX-License-Identifier: MIT */
#include "run_msrec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array.h"
#include "install_paths.h"
#include "mstrace.h"

/* ---- The directory ---- */

int recording_init(struct recording *r, const char *place)
{
	const char *temporary = getenv("TMPDIR");
	const char *parent = place ? place : temporary && *temporary ? temporary : "/tmp";
	*r = (struct recording){ 0 };
	if (asprintf(&r->directory, "%s/%smsusage.XXXXXX", parent, place ? "." : "") < 0) {
		r->directory = NULL;
		return -ENOMEM;
	}
	if (mkdtemp(r->directory))
		return 0;
	int error = -errno;
	free(r->directory);
	r->directory = NULL;
	return error;
}

static void remove_directory(const char *path)
{
	DIR *directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(path);
}

void recording_finish(struct recording *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->traces[i].path);
		free(r->traces[i].program);
	}
	free(r->traces);
	if (r->directory)
		remove_directory(r->directory);
	free(r->directory);
	*r = (struct recording){ 0 };
}

/* ---- The run ---- */

/* The caller frees the path. NULL: no memory. */
static char *find_msrec(void)
{
	static const char *const places[] = { "msrec", "../trace-record/msrec" };
	char *path = install_path_find(places, sizeof(places) / sizeof(*places), X_OK);
	return path ? path : strdup("msrec");
}

/* msrec -o DIRECTORY/NUMBER.PID OPTION... -- PROGRAM...; the caller frees the array. NULL: no memory. */
static char **command_line(char *msrec, char *pattern, const char *const *options, char *const *program)
{
	size_t n = 0, m = 0;
	while (options[n])
		n++;
	while (program[m])
		m++;
	char **words = calloc(n + m + 5, sizeof(*words));
	if (!words)
		return NULL;
	char **word = words;
	*word++ = msrec;
	*word++ = (char *)"-o";
	*word++ = pattern;
	memcpy(word, options, n * sizeof(*word));
	word += n;
	*word++ = (char *)"--";
	memcpy(word, program, m * sizeof(*word));
	return words;
}

/* A pidfd, open until the exit: while the tool reads traces, msrec's pid may belong to another process. */
static volatile sig_atomic_t child_fd;

static void forward(int signal_number)
{
	const int saved = errno;
	syscall(SYS_pidfd_send_signal, child_fd, signal_number, NULL, 0);
	errno = saved;
}

static void pass_signals_on(pid_t pid)
{
	struct sigaction action = { .sa_handler = forward, .sa_flags = SA_RESTART };
	child_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

/* Like posix_spawnp(), but forwards signals that arrive between fork and wait, too. */
static int run(char **words)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC) != 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		execvp(words[0], words);
		int error = errno;
		_exit(write(report[1], &error, sizeof(error)) == sizeof(error) ? 127 : 126);
	}
	int error = pid < 0 ? errno : 0, status = 0;
	close(report[1]);
	if (pid > 0) {
		pass_signals_on(pid);
		if (read(report[0], &error, sizeof(error)) != sizeof(error))
			error = 0;
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
	}
	close(report[0]);
	return error ? -error : status;
}

int recording_run(struct recording *r, const char *const *options, char *const *program)
{
	char *msrec = find_msrec(), *pattern = NULL;
	if (asprintf(&pattern, "%s/%%n.%%p", r->directory) < 0)
		pattern = NULL;
	char **words = msrec && pattern ? command_line(msrec, pattern, options, program) : NULL;
	int status = words ? run(words) : -ENOMEM;
	free(words);
	free(pattern);
	free(msrec);
	return status;
}

/* ---- Its traces ---- */

/*
 * Returns the process's argv[0]; the path of its executable if it exited before msrec read argv; "" for a file that
 * is no trace (`reader` is NULL). The caller frees it. NULL: no memory.
 */
static char *program_of(const struct mst_reader *reader)
{
	if (!reader)
		return strdup("");
	const struct mst_file_info *info = mst_reader_info(reader);
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(reader, &n);
	if (info->argc)
		return strdup(info->argv[0]);
	for (uint32_t i = 0; i < n; i++)
		if (modules[i].role == MST_MODULE_EXECUTABLE)
			return strdup(modules[i].path);
	return strdup("");
}

/* Reads the whole trace, as its last unit says how the process ended. */
static int look_at(struct recording_trace *trace)
{
	int fd = open(trace->path, O_RDONLY | O_CLOEXEC);
	struct mst_reader *reader;
	if (fd < 0)
		return -errno;
	int status = mst_reader_create(&reader, fd);
	if (status == 0) {
		const struct mst_chunk *chunk;
		const struct mst_file_info *info = mst_reader_info(reader);
		uint64_t last = 0;
		trace->pid = info->pid;
		while ((status = mst_reader_next(reader, &chunk)) > 0)
			if (chunk->n_stamps)
				last = chunk->stamps[chunk->n_stamps - 1].time;
		const struct mst_end *end = mst_reader_end(reader);
		trace->executed = end && end->reason == MST_END_EXEC;
		trace->ended = info->start_ns + (end ? end->time_ns : last << mst_reader_time_shift(reader));
	}
	trace->program = program_of(reader);
	mst_reader_destroy(reader);
	close(fd);
	return status == MST_ERR_NOMEM || !trace->program ? -ENOMEM : 0;
}

static int add_trace(struct recording *r, const char *name)
{
	struct recording_trace *grown = reallocarray(r->traces, r->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->traces = grown;
	struct recording_trace *trace = &grown[r->n];
	*trace = (struct recording_trace){ 0 };
	if (asprintf(&trace->path, "%s/%s", r->directory, name) < 0)
		return -ENOMEM;
	int error = look_at(trace);
	if (error) {
		free(trace->path);
		free(trace->program);
		return error;
	}
	r->n++;
	if (strncmp(name, "1.", 2) == 0)
		r->pid = trace->pid;
	return 0;
}

static int compare_ends(const void *a, const void *b)
{
	const struct recording_trace *x = a, *y = b;
	if (x->ended != y->ended)
		return x->ended < y->ended ? -1 : 1;
	return strcmp(x->path, y->path);
}

int recording_list(struct recording *r)
{
	DIR *directory = opendir(r->directory);
	int error = directory ? 0 : -errno;
	for (struct dirent *entry; !error && (entry = readdir(directory));)
		if (entry->d_name[0] != '.')
			error = add_trace(r, entry->d_name);
	if (directory)
		closedir(directory);
	array_sort(r->traces, r->n, sizeof(*r->traces), compare_ends);
	return error;
}

char *recording_keep(const struct recording_trace *trace, const char *path)
{
	char *name = strdup(path);
	for (unsigned i = 2; name; i++) {
		if (link(trace->path, name) == 0) {
			unlink(trace->path);
			return name;
		}
		int error = errno;
		free(name);
		errno = error;
		if (error != EEXIST || asprintf(&name, "%s.%u", path, i) < 0)
			return NULL;
	}
	return NULL;
}
