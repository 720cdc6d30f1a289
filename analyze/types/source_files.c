/* SPDX-License-Identifier: MIT */
#include "source_files.h"

#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "array.h"
#include "file.h"

enum { FILE_LARGEST = 16 << 20, ALL_LARGEST = 128 << 20, FILES_MOST = 2000 };

bool source_file_is_one(const char *path)
{
	static const char *const ends[] = { "c",   "cc",  "cpp", "cxx", "c++", "h",   "hh",
					    "hpp", "hxx", "inc", "inl", "rs",  "go",  "zig",
					    "d",   "m",   "mm",  "f",   "f90", "py",  "pyx",
					    "js",  "ts",  "y",   "l",   "ipp", "tcc", "swift" };
	const char *dot = strrchr(path, '.');
	struct stat st;

	for (size_t i = 0; dot && i < sizeof(ends) / sizeof(*ends); i++) {
		if (strcmp(dot + 1, ends[i]) == 0)
			return *path == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode);
	}
	return false;
}

static void file_destroy(struct source_file *file)
{
	free(file->text);
	free(file->starts);
	free(file->comment);
	free(file);
}

void source_files_finish(struct source_files *files)
{
	for (uint32_t i = 0; i < files->n; i++)
		file_destroy(files->files[i]);
	free(files->files);
	*files = (struct source_files){ 0 };
}

/* ---- Lines ---- */

enum state { CODE, BLOCK_COMMENT, LINE_COMMENT, STRING, CHARACTER };

/* What follows a character. Strings end at the line's end, as a damaged file may have odd quotes. */
static enum state next_state(enum state state, const char **at)
{
	const char c = **at, d = c ? (*at)[1] : '\0';

	if (state == BLOCK_COMMENT || (state == CODE && c == '/' && d == '*')) {
		const bool begins = state == CODE, ends = !begins && c == '*' && d == '/';

		*at += begins || ends ? 2 : 1;
		return ends ? CODE : BLOCK_COMMENT;
	}
	if (state != CODE && c == '\\' && d && d != '\n') {
		*at += 2;
		return state;
	}
	*at += 1;
	if (c == '\n')
		return CODE;
	if (state == STRING || state == CHARACTER)
		return c == (state == STRING ? '"' : '\'') ? CODE : state;
	if (state == LINE_COMMENT)
		return state;
	return c == '"' ? STRING : c == '\'' ? CHARACTER : c == '/' && d == '/' ? LINE_COMMENT : CODE;
}

static bool find_lines(struct source_file *file)
{
	uint32_t lines = 1;
	enum state state = CODE;

	for (const char *at = file->text; (at = strchr(at, '\n')); at++)
		lines++;
	file->starts = malloc((lines + (size_t)1) * sizeof(*file->starts));
	file->comment = malloc(lines);
	if (!file->starts || !file->comment)
		return false;
	file->starts[0] = 0;
	file->comment[0] = false;
	file->n_lines = 1;
	for (const char *at = file->text; *at;) {
		const char *before = at;

		state = next_state(state, &at);
		if (*before != '\n')
			continue;
		file->starts[file->n_lines] = (uint32_t)(at - file->text);
		file->comment[file->n_lines++] = state == BLOCK_COMMENT;
	}
	file->starts[file->n_lines] = (uint32_t)strlen(file->text);
	return true;
}

static struct source_file *file_read(const char *path)
{
	struct source_file *file = calloc(1, sizeof(*file));
	struct stat st;

	if (!file)
		return NULL;
	file->path = path;
	if (!source_file_is_one(path) || stat(path, &st) != 0)
		return file;
	file->modified = st.st_mtime;
	if (st.st_size <= FILE_LARGEST)
		file->text = file_text(path, (size_t)st.st_size);
	if (file->text && !find_lines(file)) {
		file_destroy(file);
		return NULL;
	}
	return file;
}

const struct source_file *source_files_open(struct source_files *files, const char *path)
{
	struct source_file *file;

	for (uint32_t i = 0; i < files->n; i++) {
		if (strcmp(files->files[i]->path, path) == 0)
			return files->files[i]->text ? files->files[i] : NULL;
	}
	if (files->n == FILES_MOST || files->bytes > ALL_LARGEST ||
	    !array_reserve(&files->files, files->n, &files->room, sizeof(struct source_file *)))
		return NULL;
	file = file_read(path);
	if (!file)
		return NULL;
	files->files[files->n++] = file;
	if (file->text)
		files->bytes += 6 * (size_t)file->starts[file->n_lines];
	return file->text ? file : NULL;
}
