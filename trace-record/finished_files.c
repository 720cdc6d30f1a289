/* SPDX-License-Identifier: MIT */
#include "finished_files.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "file.h"

/* What stands in the list before the texts of a file. */
struct entry {
	struct finished_file file; /* without its texts ... */
	uint32_t path, program;    /* ... whose sizes these are, with their NULs */
};

static int list = -1;

bool finished_files_begin(void)
{
	list = memfd_create("finished files", MFD_CLOEXEC);
	return list >= 0 && fcntl(list, F_SETFL, O_APPEND) == 0;
}

/* In one call: others write, too. */
static bool add(const struct finished_file *file, const char *path, const char *program)
{
	struct entry entry = { *file, (uint32_t)strlen(path) + 1, (uint32_t)strlen(program) + 1 };
	const struct iovec parts[] = {
		{ &entry, sizeof(entry) },
		{ (void *)path, entry.path },
		{ (void *)program, entry.program },
	};

	return list >= 0 && writev(list, parts, 3) == (ssize_t)(sizeof(entry) + entry.path + entry.program);
}

bool finished_files_add(const struct recording_report *r)
{
	const struct finished_file file = {
		.main = r->main,
		.executed = r->executed,
		.stopped = r->stopped,
		.events = r->events,
		.lost = r->lost,
		.bytes = r->bytes,
		.figures = r->figures,
	};

	return add(&file, r->path, r->program);
}

void finished_files_note_unseen(void)
{
	add(&(struct finished_file){ 0 }, "", "");
}

static size_t list_size(void)
{
	const off_t size = list >= 0 ? lseek(list, 0, SEEK_END) : 0;

	return size > 0 ? (size_t)size : 0;
}

void finished_files_read(struct finished_files *files)
{
	const size_t size = list_size();
	struct entry entry;

	*files = (struct finished_files){
		.texts = malloc(size + 1),
		.items = calloc(size / sizeof(entry) + 1, sizeof(*files->items)),
	};
	if (!files->texts || !files->items || !file_read_at(list, 0, files->texts, size))
		return;
	for (size_t at = 0; size - at > sizeof(entry); at += sizeof(entry) + entry.path + entry.program) {
		memcpy(&entry, files->texts + at, sizeof(entry));
		assert(entry.path + entry.program <= size - at - sizeof(entry));
		entry.file.path = files->texts + at + sizeof(entry);
		entry.file.program = entry.file.path + entry.path;
		if (*entry.file.path)
			files->items[files->n++] = entry.file;
		else
			files->unseen++;
	}
}

void finished_files_finish(struct finished_files *files)
{
	free(files->items);
	free(files->texts);
	*files = (struct finished_files){ 0 };
}
