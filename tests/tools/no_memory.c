/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a program with one thread: at each call that allocates it forks, and in the child the call fails.
 * NO_MEMORY_REPORT names a file that gets a line for each child, and the last one for the program itself: the number of
 * the call, or 0; exit status, or minus a signal; hashes of standard output and standard error. Files of that name, a
 * dot and a hash behind it, have the output itself. If NO_MEMORY_FOLDERS names a folder, each child's working directory
 * is a new one in it, named by the number of the call.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 32

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static FILE *report;
static unsigned calls;
static bool in_child, busy;

static void redirect(int fd)
{
	const int file = memfd_create("stream", MFD_CLOEXEC);

	if (file < 0 || dup2(file, fd) < 0)
		_exit(99);
	close(file);
}

/* Copies a stream's output to a file with the output's hash in its name. */
static unsigned long long keep(int fd)
{
	unsigned long long hash = 0xcbf29ce484222325;
	unsigned char bytes[4096];
	char name[PATH_MAX];
	ssize_t n;
	int to;

	for (off_t at = 0; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n) {
		for (ssize_t i = 0; i < n; i++)
			hash = (hash ^ bytes[i]) * 0x100000001b3;
	}
	snprintf(name, sizeof(name), "%s.%llx", getenv("NO_MEMORY_REPORT"), hash);
	to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	for (off_t at = 0; to >= 0 && (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n) {
		if (write(to, bytes, (size_t)n) != n)
			_exit(99);
	}
	if (to >= 0)
		close(to);
	return hash;
}

static void tell(unsigned call, int status)
{
	const int code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);

	const unsigned long long output = keep(STDOUT_FILENO), messages = keep(STDERR_FILENO);

	fprintf(report, "%u %d %llx %llx\n", call, code, output, messages);
	fflush(report);
}

/* Open files, whose position a child shares with the program. */
static struct shared {
	bool open;
	off_t position, size;
} files[FILES];

static void note_files(void)
{
	struct stat st;

	for (int fd = 0; fd < FILES; fd++) {
		files[fd].open = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
		files[fd].position = lseek(fd, 0, SEEK_CUR);
		files[fd].size = st.st_size;
	}
}

/* Restores their contents and positions: the streams have only the program's own output. */
static void restore_files(void)
{
	struct stat st;

	for (int fd = 0; fd < FILES; fd++) {
		if (!files[fd].open || fd == fileno(report))
			continue;
		if (fstat(fd, &st) == 0 && st.st_size != files[fd].size && ftruncate(fd, files[fd].size) != 0)
			_exit(99);
		lseek(fd, files[fd].position, SEEK_SET);
	}
}

static void enter_folder(void)
{
	const char *folders = getenv("NO_MEMORY_FOLDERS");
	char name[PATH_MAX];

	if (!folders)
		return;
	snprintf(name, sizeof(name), "%s/%u", folders, calls);
	if (mkdir(name, 0700) != 0 || chdir(name) != 0)
		_exit(99);
}

/* True in the child, where the call fails. */
static bool fails(void)
{
	int status;
	pid_t pid;

	if (!report || in_child || busy)
		return false;
	busy = true;
	calls++;
	note_files();
	pid = fork();
	if (pid == 0) {
		in_child = true;
		enter_folder();
		errno = ENOMEM;
		return true;
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		_exit(99);
	tell(calls, status);
	restore_files();
	busy = false;
	return false;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
	return fails() ? NULL : __libc_realloc(block, size);
}

void *reallocarray(void *block, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all) || fails()) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_realloc(block, all);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

static __attribute__((destructor)) void tell_end(void)
{
	if (!report || in_child)
		return;
	busy = true;
	fflush(stdout);
	tell(0, 0);
}

static __attribute__((constructor)) void begin(void)
{
	busy = true;
	redirect(STDOUT_FILENO);
	redirect(STDERR_FILENO);
	report = fopen(getenv("NO_MEMORY_REPORT"), "we");
	busy = false;
}
