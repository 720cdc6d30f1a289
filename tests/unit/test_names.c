/* SPDX-License-Identifier: MIT */
/* Names in traces: the reader returns the writer's names, or detects the damage; through pipes, too. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "mst_writer.h"
#include "unit.h"

#define FRAMES 6000u

/* ---- a file system that gives and takes what it likes ---- */

static bool in_parts; /* now and then EINTR, and calls transfer at most half */
static unsigned calls_in_parts;

static bool is_interrupted(size_t *size)
{
	if (!in_parts)
		return false;
	*size -= *size / 2;
	errno = EINTR;
	return calls_in_parts++ % 3 == 0;
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
	return is_interrupted(&size) ? -1 : syscall(SYS_pread64, fd, to, size, at);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
	return is_interrupted(&size) ? -1 : syscall(SYS_pwrite64, fd, from, size, at);
}

/* ---- a trace with names ---- */

/* Some frames have none; texts repeat, are empty, long, or missing. */
static uint32_t names_given(uint32_t frame)
{
	return frame % 7 == 3 ? 0 : frame % 5 == 0 ? 1 + frame % 40 : 1;
}

static const char *text_given(uint32_t frame, uint32_t i, uint32_t what)
{
	static char text[4096];
	const uint32_t seed = frame * 31 + i * 7 + what;

	if (seed % 9 == 0)
		return NULL;
	if (seed % 11 == 0)
		return "";
	if (frame % 100 == 50 && what == 0) {
		memset(text, 'a' + (int)(seed % 26), sizeof(text) - 1);
		return text;
	}
	snprintf(text, sizeof(text), "%u of %u", what, what == 0 ? seed : seed % 50);
	return text;
}

static void name_given(uint32_t frame, uint32_t i, char texts[4][4096], struct mst_name *name)
{
	const char **to[4] = { &name->function, &name->directory, &name->file, &name->full };

	for (uint32_t what = 0; what < 4; what++) {
		const char *text = text_given(frame, i, what);

		*to[what] = NULL;
		if (text)
			*to[what] = strcpy(texts[what], text);
	}
	name->line = frame * 3 + i;
}

static struct mst_writer *begin(int fd)
{
	static const char *const arguments[] = { "a" };
	const struct mst_file_info info = {
		.recorder = "r", .exe = "/e", .cwd = "/", .argc = 1, .argv = arguments
	};
	struct mst_writer *w;

	assert_int_equal(mst_writer_create(&w, fd, &info, &(struct mst_writer_options){ .identity = true }),
			 0);
	return w;
}

static void define(struct mst_writer *w)
{
	const struct mst_thread thread = { .tid = 1 };
	uint64_t index;
	uint32_t id, stack, kind;

	assert_int_equal(mst_writer_thread(w, &thread, &id), 0);
	mst_writer_at(w, 1, id);
	for (uint32_t i = 0; i < FRAMES; i++) {
		const struct mst_frame frame = { MST_NONE, i * 16 };
		struct mst_kind k = { .op = MST_OP_MALLOC, .size = i, .cap = i };

		assert_int_equal(mst_writer_frame(w, &frame, &id), 0);
		assert_int_equal(mst_writer_stack(w, &(struct mst_stack){ MST_ROOT_STACK, id }, &stack), 0);
		k.stack = stack;
		assert_int_equal(mst_writer_kind(w, &k, &kind), 0);
		assert_int_equal(mst_writer_alloc(w, kind, &index), 0);
	}
}

static void give_names(struct mst_writer *w)
{
	static char texts[40][4][4096];
	struct mst_name names[40];

	for (uint32_t frame = 0; frame < FRAMES; frame++) {
		const uint32_t n = names_given(frame);

		for (uint32_t i = 0; i < n; i++)
			name_given(frame, i, texts[i], &names[i]);
		if (n)
			assert_int_equal(mst_writer_names(w, frame, names, n), 0);
	}
}

static int make_trace(bool named)
{
	struct mst_end end = { .reason = MST_END_EXIT, .events = FRAMES };
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct mst_writer *w = begin(fd);

	define(w);
	if (named)
		give_names(w);
	assert_int_equal(mst_writer_finish(w, &end), 0);
	mst_writer_destroy(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* ---- reading ---- */

static void check_text(const char *text, const char *given)
{
	if (!given)
		assert_null(text);
	else
		assert_string_equal(text, given);
}

static void check_names(const struct mst_reader *r)
{
	static char texts[4][4096];
	struct mst_name given;

	for (uint32_t frame = 0; frame < FRAMES; frame++) {
		assert_int_equal(mst_reader_names(r, frame), names_given(frame));
		for (uint32_t i = 0; i < names_given(frame); i++) {
			const struct mst_name name = mst_reader_name(r, frame, i);

			name_given(frame, i, texts, &given);
			check_text(name.function, given.function);
			check_text(name.directory, given.directory);
			check_text(name.file, given.file);
			check_text(name.full, given.full);
			assert_int_equal(name.line, given.line);
		}
	}
	assert_int_equal(mst_reader_names(r, FRAMES), 0);
	assert_null(mst_reader_name(r, 1, 1000).function);
}

/* Reads all records with any names. Returns the reader's last status. */
static int read_on(struct mst_reader *r)
{
	const struct mst_chunk *chunk;
	int status;

	while ((status = mst_reader_next(r, &chunk)) > 0)
		;
	return status;
}

static void check_trace(int fd)
{
	struct mst_reader *r;

	assert_int_equal(mst_reader_create(&r, fd), 0);
	check_names(r); /* before the first record */
	assert_int_equal(read_on(r), 0);
	check_names(r);
	assert_non_null(mst_reader_end(r));
	mst_reader_destroy(r);
}

static void test_round_trip(void **state)
{
	const int fd = make_trace(true);

	(void)state;
	check_trace(fd);
	close(fd);
}

static void test_in_parts(void **state)
{
	(void)state;
	in_parts = true;
	test_round_trip(state);
	in_parts = false;
	assert_true(calls_in_parts > 0);
}

struct feed {
	int from, to;
};

static void *feed_pipe(void *opaque)
{
	struct feed *feed = opaque;
	char buffer[1000];
	ssize_t n;

	while ((n = read(feed->from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(feed->to, buffer, (size_t)n), n);
	close(feed->to);
	return NULL;
}

static void test_pipe(void **state)
{
	const int fd = make_trace(true);
	pthread_t thread;
	struct feed feed;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	feed = (struct feed){ fd, ends[1] };
	assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &feed), 0);
	check_trace(ends[0]);
	pthread_join(thread, NULL);
	close(ends[0]);
	close(fd);
}

/* Behind other bytes: the reader starts at the descriptor's position. */
static void test_from_the_middle(void **state)
{
	const int fd = make_trace(true), other = memfd_create("trace", MFD_CLOEXEC);
	char buffer[4096];
	ssize_t n;

	(void)state;
	assert_int_equal(write(other, "before", 6), 6);
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(other, buffer, (size_t)n), n);
	assert_int_equal(lseek(other, 6, SEEK_SET), 6);
	check_trace(other);
	close(other);
	close(fd);
}

static bool same_bytes(int a, int b)
{
	const off_t n = lseek(a, 0, SEEK_END);
	void *x, *y;
	bool same;

	if (lseek(b, 0, SEEK_END) != n)
		return false;
	x = mmap(NULL, (size_t)n, PROT_READ, MAP_SHARED, a, 0);
	y = mmap(NULL, (size_t)n, PROT_READ, MAP_SHARED, b, 0);
	same = memcmp(x, y, (size_t)n) == 0;
	munmap(x, (size_t)n);
	munmap(y, (size_t)n);
	return same;
}

/* Names added later make the same file as names written at once, and replace old ones. */
static void test_extend(void **state)
{
	const int whole = make_trace(true), plain = make_trace(false);

	(void)state;
	for (int from = plain, round = 0; round < 2; round++, from = whole) {
		const int fd = memfd_create("trace", MFD_CLOEXEC);
		struct mst_reader *r;
		struct mst_writer *w;
		struct mst_end end;

		assert_int_equal(lseek(from, 0, SEEK_SET), 0);
		assert_int_equal(mst_reader_create(&r, from), 0);
		assert_int_equal(read_on(r), 0);
		assert_int_equal(mst_writer_append(&w, fd, from, mst_reader_sound_bytes(r)), 0);
		give_names(w);
		end = *mst_reader_end(r);
		assert_int_equal(mst_writer_finish(w, &end), 0);
		mst_writer_destroy(w);
		mst_reader_destroy(r);
		assert_true(same_bytes(fd, whole));
		close(fd);
	}
	close(whole);
	close(plain);
}

/* Static texts; two of them are equal. */
static int write_steady(bool told)
{
	static const char texts[][4] = { "f", "g", "f", "/a", "/b", "c.c" };
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct mst_writer *w = begin(fd);

	define(w);
	if (told)
		mst_writer_steady_texts(w);
	for (uint32_t frame = 0; frame < FRAMES; frame++) {
		const struct mst_name names[] = {
			{ .function = texts[frame % 3], .directory = texts[3 + frame % 2], .line = frame },
			{ .function = texts[frame % 5 % 3], .file = texts[5] },
		};

		assert_int_equal(mst_writer_names(w, frame, names, 1 + frame % 2), 0);
	}
	assert_int_equal(mst_writer_finish(w, &(struct mst_end){ .reason = MST_END_EXIT }), 0);
	mst_writer_destroy(w);
	return fd;
}

static void test_steady(void **state)
{
	const int plain = write_steady(false), steady = write_steady(true);

	(void)state;
	assert_true(same_bytes(plain, steady));
	close(plain);
	close(steady);
}

static void test_refused(void **state)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct mst_writer *w = begin(fd);
	const struct mst_name name = { .function = "f" };

	(void)state;
	define(w);
	assert_int_equal(mst_writer_names(w, 5, &name, 0), MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_names(w, FRAMES, &name, 1), MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_names(w, 5, &name, 1), 0);
	assert_int_equal(mst_writer_names(w, 5, &name, 1), MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_names(w, 4, &name, 1), MST_ERR_ARGUMENT);
	assert_int_equal(mst_writer_names(w, 6, &name, 1), 0);
	assert_int_equal(mst_writer_finish(w, &(struct mst_end){ .reason = MST_END_EXIT }), 0);
	mst_writer_destroy(w);
	close(fd);
}

/* ---- harm ---- */

/* The reader detects any changed byte behind the records, and still delivers all records. */
static void test_flipped(void **state)
{
	const int fd = make_trace(true);
	const off_t size = lseek(fd, 0, SEEK_END);
	uint8_t *data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct mst_reader *r;

	(void)state;
	for (off_t at = 300; at < size; at += 1 + at % 1009) {
		int status;

		data[at] ^= 0x20;
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		assert_int_equal(mst_reader_create(&r, fd), 0);
		for (uint32_t frame = 0; frame < FRAMES; frame++)
			for (uint32_t i = 0; i < mst_reader_names(r, frame); i++)
				mst_reader_name(r, frame, i);
		status = read_on(r);
		assert_true(status == MST_ERR_DAMAGED || status == MST_ERR_TRUNCATED || status == 0);
		mst_reader_destroy(r);
		data[at] ^= 0x20;
	}
	munmap(data, (size_t)size);
	close(fd);
}

struct crafted {
	const char *what;
	uint32_t fields[4];
	uint32_t n_fields;
	uint8_t columns[4][24];
	uint8_t sizes[4];
	const char *problem; /* part of it; NULL: sound */
};

/* Two frames are defined; the sound unit has texts "f" and "g". */
static const struct crafted cases[] = {
	{ "sound",
	  { 1, 2, 2 },
	  3,
	  { "\1f\1g", { 0, 1, 1, 2 }, { 1, 0, 2, 9, 2, 0, 0, 0, 1, 1, 1, 1 } },
	  { 4, 4, 12 },
	  NULL },
	{ "full names",
	  { 1, 2, 2 },
	  3,
	  { "\1f\1g", { 0, 1, 1, 2 }, { 1, 0, 2, 9, 2, 0, 0, 0, 1, 1, 1, 1 }, { 0, 1, 0 } },
	  { 4, 4, 12, 3 },
	  NULL },
	{ "more fields and bytes",
	  { 1, 1, 1, 7 },
	  4,
	  { "\1f\1g", { 1, 1, 7 }, { 1, 0, 0, 9, 7 } },
	  { 4, 3, 5 },
	  NULL },
	{ "nothing", { 1, 0, 0 }, 3, { "", { 0 }, { 0 } }, { 0, 0, 0 }, NULL },
	{ "fields missing", { 1, 2 }, 2, { "\1f\1g", { 0 }, { 0 } }, { 4, 0, 0 }, "lacks fields" },
	{ "texts missing", { 2, 1, 0 }, 3, { "\1f", { 0 }, { 0 } }, { 2, 0, 0 }, "definitions are missing" },
	{ "texts promised",
	  { 1, 9, 0 },
	  3,
	  { "\1f\1g", { 0 }, { 0 } },
	  { 4, 0, 0 },
	  "more definitions promised" },
	{ "all texts promised",
	  { 1, 0xffffffff, 0 },
	  3,
	  { "\1f", { 0 }, { 0 } },
	  { 2, 0, 0 },
	  "more definitions promised" },
	{ "frames promised",
	  { 1, 0, 9 },
	  3,
	  { "", { 0, 1 }, { 0, 0, 0, 0 } },
	  { 0, 2, 4 },
	  "more definitions promised" },
	{ "all frames promised",
	  { 1, 0, 0xffffffff },
	  3,
	  { "", { 0, 1 }, { 0, 0, 0, 0 } },
	  { 0, 2, 4 },
	  "more definitions promised" },
	{ "names missing",
	  { 1, 0, 1 },
	  3,
	  { "", { 0, 1 }, { 0 } },
	  { 0, 2, 0 },
	  "more definitions promised" },
	{ "a text too long", { 1, 1, 0 }, 3, { "\5f", { 0 }, { 0 } }, { 2, 0, 0 }, "text is malformed" },
	{ "a text with a NUL", { 1, 1, 0 }, 3, { "\2f", { 0 }, { 0 } }, { 3, 0, 0 }, "text is malformed" },
	{ "a giant text",
	  { 1, 1, 0 },
	  3,
	  { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", { 0 }, { 0 } },
	  { 10, 0, 0 },
	  "text is malformed" },
	{ "no such text",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0, 1 }, { 2, 0, 0, 0 } },
	  { 2, 2, 4 },
	  "name is malformed" },
	{ "no such full name",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0, 1 }, { 1, 0, 0, 0 }, { 2 } },
	  { 2, 2, 4, 1 },
	  "full name is malformed" },
	{ "full names missing",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0, 2 }, { 1, 0, 0, 0, 1, 0, 0, 0 }, { 1 } },
	  { 2, 2, 8, 1 },
	  "full name is malformed" },
	{ "a giant line",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0, 1 }, { 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f } },
	  { 2, 2, 8 },
	  "name is malformed" },
	{ "a frame without names",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0, 0 }, { 1, 0, 0, 0 } },
	  { 2, 2, 4 },
	  "impossible number" },
	{ "a frame with too many names",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0, 0xff, 0x7f }, { 1, 0, 0, 0 } },
	  { 2, 3, 4 },
	  "impossible number" },
	{ "half a name",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0, 2 }, { 1, 0, 0, 0, 1, 0 } },
	  { 2, 2, 6 },
	  "name is malformed" },
	{ "the same frame twice",
	  { 1, 1, 2 },
	  3,
	  { "\1f", { 1, 1, 0, 1 }, { 1, 0, 0, 0, 1, 0, 0, 0 } },
	  { 2, 4, 8 },
	  "not in order" },
	{ "a frame that isn't there",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 2, 1 }, { 1, 0, 0, 0 } },
	  { 2, 2, 4 },
	  "isn't there" },
	{ "a giant frame",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0xff, 0xff, 0xff, 0xff, 0x0f, 1 }, { 1, 0, 0, 0 } },
	  { 2, 6, 4 },
	  "frame is malformed" },
	{ "half a frame",
	  { 1, 1, 1 },
	  3,
	  { "\1f", { 0, 0x80 }, { 1, 0, 0, 0 } },
	  { 2, 2, 4 },
	  "frame is malformed" },
};

static void put_unit(int fd, uint8_t type, uint32_t number, const uint32_t *fields, size_t n_fields,
		     const struct unit_column *columns, size_t n)
{
	struct bytes out = { 0 }, packed = { 0 };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	for (size_t i = 0; i < n_fields; i++)
		bytes_u32(&packed, fields[i]);
	assert_int_equal(unit_encode(&out, zstd, type, type == UNIT_NAMES ? 0 : UNIT_CRITICAL, number,
				     &packed, columns, n),
			 0);
	assert_int_equal(write(fd, out.data, out.size), out.size);
	bytes_free(&out);
	bytes_free(&packed);
	ZSTD_freeCCtx(zstd);
}

static int craft(const struct crafted *c, uint32_t features)
{
	static const uint8_t text[] = { 1, 'r', 1, 'e', 1, 'c' }, frames[] = { 0, 16, 0, 16 },
			     parents[] = { 0, 0 };
	const uint32_t file[] = { 1, 0, 10, 62, 4096, 1, 0, 0, 0, 0, features, 0, 0, 0, 0, 0 },
		       stacks[] = { 1, 2, 0, 2 }, end[16] = { [15] = 92 };
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct unit_column columns[4] = { { 0, text, sizeof(text) } };

	put_unit(fd, UNIT_FILE, 0, file, 16, columns, 1);
	columns[0] = (struct unit_column){ 0, frames, 4 };
	columns[1] = (struct unit_column){ 1, parents, 2 };
	columns[2] = (struct unit_column){ 2, parents, 2 };
	put_unit(fd, UNIT_STACKS, 1, stacks, 4, columns, 3);
	for (uint8_t i = 0; i < 4; i++)
		columns[i] = (struct unit_column){ i, c->columns[i], c->sizes[i] };
	put_unit(fd, UNIT_NAMES, 2, c->fields, c->n_fields, columns, 4);
	put_unit(fd, UNIT_END, 3, end, 16, NULL, 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Readers that seek the names first, and readers that meet them in sequence. */
static void test_crafted(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const struct crafted *c = &cases[i / 2];
		const int fd = craft(c, i % 2 ? FEATURE_NAMES : 0);
		struct mst_reader *r;
		int status;

		assert_int_equal(mst_reader_create(&r, fd), 0);
		status = read_on(r);
		if ((status == 0) != !c->problem ||
		    (c->problem && !strstr(mst_reader_problem(r), c->problem)))
			fail_msg("%s: %d %s", c->what, status, mst_reader_problem(r));
		if (i < 4) {
			assert_int_equal(mst_reader_names(r, 0), 1);
			assert_int_equal(mst_reader_names(r, 1), 2);
			assert_string_equal(mst_reader_name(r, 1, 0).function, "g");
			assert_string_equal(mst_reader_name(r, 1, 1).file, "f");
			check_text(mst_reader_name(r, 1, 0).full, i < 2 ? NULL : "f");
			assert_null(mst_reader_name(r, 1, 1).full);
		}
		mst_reader_destroy(r);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_from_the_middle), cmocka_unit_test(test_extend),
		cmocka_unit_test(test_steady),          cmocka_unit_test(test_refused),
		cmocka_unit_test(test_flipped),         cmocka_unit_test(test_crafted),
		cmocka_unit_test(test_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
