/* SPDX-License-Identifier: MIT */
#include "unrecorded.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "printable.h"
#include "program.h"

#define ALONE ": it is not recorded"
#define WITH_CHILDREN ": neither it nor what it executes is recorded"

static const char *const sentences[] = {
	[SHM_SKIP_STATIC] = "is statically linked, so the recorder cannot be loaded" ALONE,
	[SHM_SKIP_PRIVILEGED] = "gains privileges, so the loader will not load the recorder" WITH_CHILDREN,
	[SHM_SKIP_SANITIZER] = "has a sanitizer, which bears no recorder beside it" WITH_CHILDREN,
	[SHM_SKIP_LIBRARY] = "is linked with another C library than " LIBC_NAME WITH_CHILDREN,
	[SHM_SKIP_MACHINE] = "is no 64-bit program for this processor" WITH_CHILDREN,
	[SHM_SKIP_ENVIRONMENT] = "was executed without the recorder in its environment (LD_PRELOAD, " SHM_ENV
				 ")" WITH_CHILDREN,
	[SHM_SKIP_VALGRIND] = "runs under Valgrind" ALONE,
	[SHM_SKIP_LOADER] = "cannot read the recorder, with another root or user" WITH_CHILDREN,
	[SHM_SKIP_MEMORY] = "cannot reach msrec, as another user or with another /proc" ALONE,
	[SHM_SKIP_WIPING] = "gets no memory that forked children find empty, which Linux has since 4.14 "
			    "(madvise, MADV_WIPEONFORK)" ALONE,
};

#define REASONS (sizeof(sentences) / sizeof(*sentences))

void unrecorded_finish(struct unrecorded *u)
{
	for (uint32_t i = 0; i < u->n_lines; i++)
		free(u->lines[i]);
	for (uint32_t i = 0; i < u->n_files; i++)
		free(u->files[i].objection);
	free(u->lines);
	free(u->files);
	*u = (struct unrecorded){ 0 };
}

/* ---- reporting ---- */

/* Whether the line is new, and is remembered now. Takes `line`, which may be NULL. */
static bool add_line(struct unrecorded *u, char *line)
{
	bool known = false;

	for (uint32_t i = 0; line && i < u->n_lines && !known; i++)
		known = strcmp(u->lines[i], line) == 0;
	if (!known && line && u->n_lines < UNRECORDED_LINES &&
	    array_reserve(&u->lines, u->n_lines, &u->lines_room, sizeof(*u->lines))) {
		u->lines[u->n_lines++] = line;
		return true;
	}
	u->more += !known;
	free(line);
	return false;
}

static void report_program(struct unrecorded *u, const char *path, const char *sentence, report_file *report)
{
	char *shown = printable_copy(path, strlen(path)), *line = NULL;

	if (shown && asprintf(&line, "%s\n%s", shown, sentence) < 0)
		line = NULL;
	if (add_line(u, line))
		report(&(struct recording_report){ .path = shown, .unrecorded = sentence });
	free(shown);
}

/* The memory is the program's: whatever is there, the path ends. */
void unrecorded_take(struct unrecorded *u, struct shm_family *family, report_file *report)
{
	for (unsigned i = 0; i < SHM_SKIPS; i++) {
		struct shm_skip *skip = &family->skips[i];
		char path[SHM_SKIP_PATH];
		uint32_t reason;

		if (atomic_load(&skip->state) != SHM_SKIP_READY)
			continue;
		memcpy(path, skip->path, sizeof(path));
		path[sizeof(path) - 1] = 0;
		reason = *(volatile uint32_t *)&skip->reason;
		atomic_store(&skip->state, SHM_SKIP_FREE);
		if (reason < REASONS && sentences[reason])
			report_program(u, path, sentences[reason], report);
	}
	u->more += atomic_exchange(&family->unsaid, 0);
}

/* ---- judging ---- */

static int64_t ns_of(struct timespec time)
{
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static const struct unrecorded_file *find_file(const struct unrecorded *u, const struct stat *st)
{
	for (uint32_t i = 0; i < u->n_files; i++) {
		const struct unrecorded_file *file = &u->files[i];

		if (file->inode == st->st_ino && file->device == st->st_dev &&
		    file->changed_ns == ns_of(st->st_ctim))
			return file;
	}
	return NULL;
}

static const struct unrecorded_file *judge_file(struct unrecorded *u, int fd, const struct stat *st)
{
	char *objection, *remark = NULL, *whole = NULL;

	if (!array_reserve(&u->files, u->n_files, &u->files_room, sizeof(*u->files)))
		return NULL;
	objection = program_objection(fd, false, &remark, NULL);
	free(remark);
	if (objection && asprintf(&whole, "%s" ALONE, objection) < 0)
		whole = NULL;
	free(objection);
	u->files[u->n_files] = (struct unrecorded_file){
		.device = st->st_dev,
		.inode = st->st_ino,
		.changed_ns = ns_of(st->st_ctim),
		.objection = whole,
	};
	return &u->files[u->n_files++];
}

/* Whether the process, which ran the file of that name, still does. */
static bool runs_still(const char *link, const char *exe)
{
	char now[PATH_MAX];
	const ssize_t n = readlink(link, now, sizeof(now));

	return n > 0 && (size_t)n == strlen(exe) && memcmp(now, exe, (size_t)n) == 0;
}

/* The program itself, if it still runs; else, as where it has executed another one since, what has its name now. */
static int open_program(pid_t pid, const char *exe)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && runs_still(link, exe))
		return fd;
	if (fd >= 0)
		close(fd);
	return open(exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool unrecorded_program(struct unrecorded *u, pid_t pid, const char *exe, report_file *report)
{
	const int fd = open_program(pid, exe);
	const struct unrecorded_file *file = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		file = find_file(u, &st);
		if (!file)
			file = judge_file(u, fd, &st);
	}
	if (fd >= 0)
		close(fd);
	if (!file || !file->objection)
		return false;
	report_program(u, exe, file->objection, report);
	return true;
}
