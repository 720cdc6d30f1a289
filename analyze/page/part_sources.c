/* SPDX-License-Identifier: MIT */
/* Lines of source files that nodes name, with a few around each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "file.h"
#include "parts.h"
#include "source_files.h"

enum {
	AROUND = 3, /* lines before and after */
	FILES_MOST = 500,
	LINES_MOST = 20000, /* of all files */
	LINE_LONGEST = 300, /* bytes */
	FILE_LARGEST = 8 << 20,
};

struct line {
	const char *file;
	uint32_t line;
};

static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const int order = strcmp(x->file, y->file);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* The lines of a file that are shown, as (line less the one before, text). `lines` are ascending. */
static uint32_t write_lines(struct parts *p, char *text, const struct line *lines, size_t n,
			    struct columns *to)
{
	uint32_t number = 1, before = 0, written = 0;
	size_t at = 0;
	for (char *line = text, *next; line && *line; line = next, number++) {
		char *end = strchr(line, '\n');
		next = end ? end + 1 : NULL;
		while (at < n && lines[at].line + AROUND < number)
			at++;
		if (at == n)
			break;
		if (lines[at].line > number + AROUND)
			continue;
		if (end)
			*end = '\0';
		if (strlen(line) > LINE_LONGEST)
			line[LINE_LONGEST] = '\0';
		columns_number(to, number - before);
		columns_number(to, texts_add(&p->texts, line));
		before = number;
		written++;
	}
	return written;
}

/* False: no memory. */
static bool write_file(struct parts *p, const struct line *lines, size_t n, uint32_t *n_files,
		       uint32_t *n_lines, struct columns *to)
{
	struct columns shown = { 0 };
	char *text = source_file_is_one(lines->file) ? file_text(lines->file, FILE_LARGEST) : NULL;
	if (!text)
		return errno != ENOMEM;
	const uint32_t written = write_lines(p, text, lines, n, &shown);
	if (written) {
		columns_number(to, texts_add(&p->texts, lines->file));
		columns_number(to, written);
		columns_bytes(to, shown.bytes, shown.n);
		++*n_files;
		*n_lines += written;
	}
	to->failed |= shown.failed;
	columns_finish(&shown);
	free(text);
	return true;
}

bool part_sources(struct parts *p)
{
	const struct page_nodes *nodes = &p->nodes;
	struct line *lines = malloc((nodes->n_frames + (size_t)1) * sizeof(*lines));
	struct columns files = { 0 };
	uint32_t n = 0, n_files = 0, n_lines = 0;
	bool fine = lines;
	for (uint32_t i = 0; fine && i < nodes->n_frames; i++) {
		const struct call *call = call_sites_at(p->report->calls, nodes->frames[i].call);
		if (*call->file && call->line > 0)
			lines[n++] = (struct line){ call->file, (uint32_t)call->line };
	}
	array_sort(lines, n, sizeof(*lines), compare);
	for (uint32_t i = 0, end; fine && i < n && n_files < FILES_MOST && n_lines < LINES_MOST; i = end) {
		for (end = i + 1; end < n && strcmp(lines[end].file, lines[i].file) == 0;)
			end++;
		fine = write_file(p, lines + i, end - i, &n_files, &n_lines, &files);
	}
	columns_begin(&p->columns, PART_SOURCES);
	columns_number(&p->columns, n_files);
	columns_bytes(&p->columns, files.bytes, files.n);
	columns_end(&p->columns);
	p->columns.failed |= files.failed;
	columns_finish(&files);
	free(lines);
	return fine && !p->columns.failed;
}
