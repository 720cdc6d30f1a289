/* SPDX-License-Identifier: MIT */
#include "jit.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "ranges.h"

#define FILE_MAX ((size_t)256 << 20)
#define CODES_MAX (8u << 20)
#define STEPS_MAX                                                                                            \
	((size_t)256 << 20) /* of searches for code that moved; a crafted file could make them endless */

#define DUMP_MAGIC 0x4a695444u
#define DUMP_HEADER 40u
#define DUMP_RECORD 16u /* id, size, time */
#define DUMP_LOAD_FIXED 40u
#define DUMP_MOVE_FIXED 48u
#define DUMP_DEBUG_FIXED 16u
#define DUMP_LINE_FIXED 16u

enum dump_id { DUMP_LOAD = 0, DUMP_MOVE = 1, DUMP_DEBUG_INFO = 2 };

/* A range of code. `lines` is in the file: entries of address, line, discriminator, file name. */
struct code {
	const char *name;
	uint64_t start;
	const uint8_t *lines, *lines_end; /* NULL: none */
	uint64_t moved;                   /* how far the code has moved from the addresses in `lines` */
};

struct table {
	uint8_t *data; /* the file, and a NUL */
	size_t size;
	struct code *codes;
	uint32_t n, capacity;
	size_t steps;
	struct ranges ranges; /* value: index in `codes` */
};

struct jit {
	struct table dump, map;
};

/* ---- files ---- */

static bool read_all(int fd, struct table *table, size_t size)
{
	table->data = malloc(size + 1);
	while (table->data && table->size < size) {
		const ssize_t n = read(fd, table->data + table->size, size - table->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		table->size += (size_t)n;
	}
	if (table->data)
		table->data[table->size] = 0;
	return table->data;
}

/* Opens a file of this user that was written since then; -1: it is none. */
static int open_own(const char *path, uint64_t since, struct stat *st)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == 0) &&
	    (uint64_t)st->st_mtim.tv_sec + 1 >= since / 1000000000u)
		return fd;
	close(fd);
	return -1;
}

static bool load(struct table *table, const char *path, uint64_t since)
{
	struct stat st;
	const int fd = open_own(path, since, &st);
	bool loaded;

	if (fd < 0)
		return false;
	loaded =
		st.st_size > 0 && (uint64_t)st.st_size <= FILE_MAX && read_all(fd, table, (size_t)st.st_size);
	close(fd);
	return loaded;
}

static bool add_code(struct table *table, struct code code, uint64_t size)
{
	if (size == 0 || code.start + size < code.start)
		return true;
	if (table->n == CODES_MAX ||
	    !array_reserve(&table->codes, table->n, &table->capacity, sizeof(*table->codes)))
		return false;
	table->codes[table->n] = code;
	return ranges_add(&table->ranges, code.start, code.start + size, table->n++);
}

/* ---- perf-PID.map ---- */

static void map_path(char path[64], pid_t pid)
{
	snprintf(path, 64, "/tmp/perf-%d.map", (int)pid);
}

int jit_map_open(pid_t pid, uint64_t since)
{
	char path[64];
	struct stat st;

	map_path(path, pid);
	return open_own(path, since, &st);
}

bool jit_line_parse(const char *line, struct jit_line *parsed)
{
	char *p;

	parsed->start = strtoull(line, &p, 16);
	if (*p != ' ')
		return false;
	parsed->size = strtoull(p, &p, 16);
	parsed->name = p + 1;
	return *p == ' ' && p[1];
}

static void read_map(struct table *table)
{
	char *line = (char *)table->data, *end;
	const char *const last = line + table->size;
	bool room = true;

	for (; line < last && room; line = end + 1) {
		struct jit_line parsed;

		end = line + strcspn(line, "\n");
		*end = 0;
		if (jit_line_parse(line, &parsed))
			room = add_code(table, (struct code){ .name = parsed.name, .start = parsed.start },
					parsed.size);
	}
}

/* ---- jit-PID.dump: in the byte order of the recorded machine ---- */

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t u64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* Lines come in the record before that of their code. */
struct dump_lines {
	uint64_t address;
	const uint8_t *data, *end;
};

static bool read_load(struct table *table, const uint8_t *p, size_t size, const struct dump_lines *lines)
{
	struct code code;

	if (size <= DUMP_LOAD_FIXED || !memchr(p + DUMP_LOAD_FIXED, 0, size - DUMP_LOAD_FIXED))
		return true;
	code = (struct code){ .name = (const char *)p + DUMP_LOAD_FIXED, .start = u64_at(p + 16) };
	if (lines->data && lines->address == code.start) {
		code.lines = lines->data;
		code.lines_end = lines->end;
	}
	return add_code(table, code, u64_at(p + 24));
}

static bool read_move(struct table *table, const uint8_t *p, size_t size)
{
	struct code code;
	uint32_t i = table->n;

	if (size < DUMP_MOVE_FIXED)
		return true;
	while (i && table->codes[i - 1].start != u64_at(p + 16) && table->steps < STEPS_MAX) {
		table->steps++;
		i--;
	}
	if (i == 0 || table->codes[i - 1].start != u64_at(p + 16))
		return true;
	code = table->codes[i - 1];
	code.moved += u64_at(p + 24) - code.start;
	code.start = u64_at(p + 24);
	return add_code(table, code, u64_at(p + 32));
}

static void read_dump(struct table *table)
{
	const uint8_t *p = table->data, *const end = p + table->size;
	struct dump_lines lines = { 0 };
	bool room = true;

	if (table->size < DUMP_HEADER || u32_at(p) != DUMP_MAGIC || u32_at(p + 8) > table->size)
		return;
	for (p += u32_at(p + 8); room && (size_t)(end - p) >= DUMP_RECORD;) {
		const uint32_t size = u32_at(p + 4);
		const uint8_t *body = p + DUMP_RECORD;

		if (size < DUMP_RECORD || size > (size_t)(end - p))
			return;
		if (u32_at(p) == DUMP_LOAD)
			room = read_load(table, body, size - DUMP_RECORD, &lines);
		else if (u32_at(p) == DUMP_MOVE)
			room = read_move(table, body, size - DUMP_RECORD);
		else if (u32_at(p) == DUMP_DEBUG_INFO && size >= DUMP_RECORD + DUMP_DEBUG_FIXED)
			lines = (struct dump_lines){ u64_at(body), body + DUMP_DEBUG_FIXED, p + size };
		p += size;
	}
}

/* Finds the last line at or below the address. A file name of one byte, 0xff, repeats that of the entry before. */
static void find_line(const struct code *code, uint64_t address, struct jit_name *name)
{
	const char *file = NULL;
	uint64_t best = 0;

	for (const uint8_t *p = code->lines; (size_t)(code->lines_end - p) > DUMP_LINE_FIXED;) {
		const char *text = (const char *)p + DUMP_LINE_FIXED;
		const uint64_t at = u64_at(p) + code->moved;
		const uint8_t *nul = memchr(text, 0, (size_t)(code->lines_end - p) - DUMP_LINE_FIXED);

		if (!nul)
			return;
		if (strcmp(text, "\xff") != 0)
			file = text;
		if (at <= address && at >= best && u32_at(p + 8) <= INT32_MAX) {
			best = at;
			name->file = file;
			name->line = u32_at(p + 8);
		}
		p = nul + 1;
	}
}

/* ---- life ---- */

static bool load_dump_in(struct table *table, const char *folder, const char *rest, pid_t pid, uint64_t since)
{
	char *pattern;
	glob_t found = { .gl_pathc = 0 };
	bool loaded = false;

	if (!folder || asprintf(&pattern, "%s%s/jit-%d.dump", folder, rest, (int)pid) < 0)
		return false;
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && !loaded; i++)
			loaded = load(table, found.gl_pathv[i], since);
	globfree(&found);
	free(pattern);
	return loaded;
}

static bool load_dump(struct table *table, pid_t pid, const char *folder, uint64_t since)
{
	return load_dump_in(table, folder, "", pid, since) || load_dump_in(table, "/tmp", "", pid, since) ||
	       load_dump_in(table, getenv("JITDUMPDIR"), "/.debug/jit/*", pid, since) ||
	       load_dump_in(table, getenv("HOME"), "/.debug/jit/*", pid, since) ||
	       load_dump_in(table, folder, "/.debug/jit/*", pid, since);
}

struct jit *jit_open(pid_t pid, const char *folder, uint64_t since)
{
	struct jit *jit = calloc(1, sizeof(*jit));
	char path[64];

	if (!jit)
		return NULL;
	map_path(path, pid);
	if (load(&jit->map, path, since))
		read_map(&jit->map);
	if (load_dump(&jit->dump, pid, folder, since))
		read_dump(&jit->dump);
	if ((jit->map.n || jit->dump.n) && ranges_seal(&jit->map.ranges) && ranges_seal(&jit->dump.ranges))
		return jit;
	jit_close(jit);
	return NULL;
}

static void table_finish(struct table *table)
{
	free(table->data);
	free(table->codes);
	ranges_finish(&table->ranges);
}

void jit_close(struct jit *jit)
{
	if (!jit)
		return;
	table_finish(&jit->dump);
	table_finish(&jit->map);
	free(jit);
}

static const struct code *code_at(const struct table *table, uint64_t address)
{
	const uint32_t i = ranges_find(&table->ranges, address);

	return i == RANGES_NONE ? NULL : &table->codes[i];
}

struct jit_name jit_find(const struct jit *jit, uint64_t address)
{
	const struct code *code = code_at(&jit->dump, address);
	struct jit_name name = { 0 };

	if (!code)
		code = code_at(&jit->map, address);
	if (!code)
		return name;
	name.function = code->name;
	if (code->lines)
		find_line(code, address, &name);
	return name;
}
