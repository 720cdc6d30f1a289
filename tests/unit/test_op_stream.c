/* SPDX-License-Identifier: MIT */
/* What players are told to do: each block has a slot of its own while it lives, and slots are as few as live blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "mst_writer.h"
#include "op_stream.h"
#include "replay.h"

enum { BLOCKS = 900, STEPS = 40000, MIDDLE = STEPS / 2, THREADS = 5, NONE = 255 };

static uint64_t state = 1;

static uint32_t chance(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* ---- The trace, and what it means ---- */

struct block {
	uint32_t kind;
	uint64_t ordinal, size;
	bool lives, custom;
};

/* A call in the order of the trace. */
struct step {
	uint8_t code; /* NONE: players have nothing to do */
	uint32_t thread, block;
	uint64_t size, old, ns;
};

static struct block blocks[BLOCKS];
static struct step steps[STEPS];
static uint32_t live, most_live;
static uint64_t bytes, most_bytes, most_step;

static uint32_t kind_of(struct mst_writer *w, uint8_t op, uint64_t size)
{
	const struct mst_kind kind = { .op = op, .size = size, .cap = size };
	uint32_t id;
	assert_int_equal(mst_writer_kind(w, &kind, &id), 0);
	return id;
}

static void come(struct mst_writer *w, struct block *b, struct step *s)
{
	static const uint8_t ops[] = { MST_OP_MALLOC, MST_OP_CALLOC, MST_OP_REALLOC, MST_OP_NEW,
				       MST_OP_MALLOCLIKE };
	static const uint8_t codes[] = { PLAY_MALLOC, PLAY_CALLOC, PLAY_REALLOC, PLAY_NEW, NONE };
	const uint32_t how = chance(5);
	*b = (struct block){ .size = chance(500), .lives = true, .custom = codes[how] == NONE };
	b->kind = kind_of(w, ops[how], b->size);
	assert_int_equal(mst_writer_alloc(w, b->kind, &b->ordinal), 0);
	s->code = codes[how];
	s->size = b->size;
	bytes += b->custom ? 0 : b->size;
	most_live = ++live > most_live ? live : most_live;
}

static void go(struct mst_writer *w, struct block *b, struct step *s)
{
	const bool new = mst_writer_kind_at(w, b->kind)->op == MST_OP_NEW;
	assert_int_equal(mst_writer_free(w, b->kind, b->ordinal), 0);
	s->code = b->custom ? NONE : new ? PLAY_DELETE : PLAY_FREE;
	s->old = b->size;
	bytes -= b->custom ? 0 : b->size;
	live--;
	b->lives = false;
}

static void resize(struct mst_writer *w, struct block *b, struct step *s)
{
	const uint32_t old = b->kind;
	const uint64_t ordinal = b->ordinal;
	s->old = b->size;
	b->size = chance(700) + 1;
	b->kind = kind_of(w, MST_OP_REALLOC_MOVED, b->size);
	assert_int_equal(mst_writer_resize(w, old, ordinal, b->kind, &b->ordinal), 0);
	s->code = PLAY_REALLOC;
	s->size = b->size;
	bytes += b->size - s->old;
}

static void take_step(struct mst_writer *w, uint32_t i, uint32_t thread)
{
	const uint32_t number = chance(BLOCKS);
	struct block *b = &blocks[number];
	steps[i] = (struct step){ .thread = thread, .block = number, .ns = i * UINT64_C(5000) };
	mst_writer_at(w, steps[i].ns, thread);
	if (!b->lives)
		come(w, b, &steps[i]);
	else if (!b->custom && chance(3) == 0)
		resize(w, b, &steps[i]);
	else
		go(w, b, &steps[i]);
	if (bytes > most_bytes) {
		most_bytes = bytes;
		most_step = i;
	}
}

/* The last thread ends in the middle of the trace, the one before it at the end; a third one makes calls after its end. */
static uint32_t next_thread(struct mst_writer *w, uint32_t i, uint32_t thread)
{
	if (i == MIDDLE || i == 1)
		assert_int_equal(mst_writer_thread_end(w, 0, i == 1 ? 1 : THREADS - 1), 0);
	const uint32_t n = i < MIDDLE ? THREADS : THREADS - 1;
	return thread < n && chance(10) ? thread : chance(n);
}

static int write_trace(void)
{
	const struct mst_file_info info = {
		.pid = 100, .machine = 62, .page_size = 4096, .recorder = "", .exe = "", .cwd = ""
	};
	const struct mst_writer_options options = { .identity = true,
						    .chunk_records = 500,
						    .exact_times = true };
	struct mst_end end = { .reason = MST_END_EXIT };
	struct mst_writer *w;
	const int fd = memfd_create("trace", 0);
	uint32_t thread = 0;
	assert_int_equal(mst_writer_create(&w, fd, &info, &options), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		const struct mst_thread t = { .tid = 100 + i };
		uint32_t id;
		assert_int_equal(mst_writer_thread(w, &t, &id), 0);
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		thread = next_thread(w, i, thread);
		take_step(w, i, thread);
	}
	assert_int_equal(mst_writer_thread_end(w, UINT64_C(1) << 50, THREADS - 2), 0);
	assert_int_equal(mst_writer_finish(w, &end), 0);
	mst_writer_destroy(w);
	return fd;
}

static void read_trace(int fd, struct observer *observer)
{
	struct mst_reader *reader;
	assert_true(lseek(fd, 0, SEEK_SET) == 0);
	assert_int_equal(mst_reader_create(&reader, fd), 0);
	assert_int_equal(replay_run(reader, &observer, 1, NULL), REPLAY_COMPLETE);
	mst_reader_destroy(reader);
}

/* ---- What players do ---- */

struct check {
	struct op_sink sink;
	uint32_t slots[BLOCKS]; /* of the block of each slot, + 1; 0: the slot is empty */
	uint32_t next;          /* of steps[] */
	uint32_t thread, samples, thread_ends;
	uint64_t ns, played_bytes;
	bool ended;
};

static void pass_nothing(struct check *c)
{
	while (c->next < STEPS && steps[c->next].code == NONE)
		c->next++;
}

static void check_end_of_thread(struct check *c, const struct player_op *op)
{
	const uint32_t n = c->thread_ends++;
	assert_int_equal(c->thread, PLAYER_MAIN);
	assert_int_equal(op->slot, THREADS - 1 - n);
	pass_nothing(c);
	assert_in_range(c->next, n ? STEPS : MIDDLE, STEPS);
	for (uint32_t i = n ? STEPS : MIDDLE; i < c->next; i++)
		assert_int_equal(steps[i].code, NONE);
}

static void check_call(struct check *c, const struct player_op *op)
{
	pass_nothing(c);
	assert_true(c->next < STEPS);
	const struct step *s = &steps[c->next++];
	assert_int_equal(op->code, s->code);
	assert_int_equal(c->thread, s->thread == 0 ? PLAYER_MAIN : s->thread);
	assert_true(c->ns <= s->ns);
	assert_true(op->slot < most_live);
	uint32_t *const slot = &c->slots[op->slot];
	if (op->code < PLAY_REALLOC || (op->code == PLAY_REALLOC && op->old == 0 && *slot == 0)) {
		assert_int_equal(*slot, 0);
		*slot = s->block + 1;
	} else {
		assert_int_equal(*slot, s->block + 1);
		assert_int_equal(op->old, s->old);
	}
	if (op->code <= PLAY_REALLOC)
		assert_int_equal(op->size, s->size);
	else
		*slot = 0;
}

static int check_op(struct op_sink *sink, const struct player_op *op)
{
	struct check *const c = (struct check *)sink;
	assert_false(c->ended);
	switch ((enum player_code)op->code) {
	case PLAY_THREAD:
		c->thread = op->slot;
		break;
	case PLAY_CLOCK:
		assert_true(op->size >= c->ns);
		c->ns = op->size;
		break;
	case PLAY_SAMPLE:
		assert_int_equal(op->slot, c->samples++);
		break;
	case PLAY_STOP:
	case PLAY_END:
		c->ended = true;
		break;
	case PLAY_THREAD_END:
		check_end_of_thread(c, op);
		break;
	default:
		check_call(c, op);
	}
	return 0;
}

static void look(struct outline *o, int fd)
{
	outline_init(o);
	read_trace(fd, &o->observer);
	assert_int_equal(o->slots, most_live);
	assert_int_equal(o->peak_bytes, most_bytes);
	assert_int_equal(o->end_bytes, bytes);
	assert_int_equal(o->main, 0);
	assert_true(o->ends_recorded);
	assert_int_equal(outline_threads(o), THREADS);
}

static void test_calls(void **unused)
{
	const struct thread_vectors vectors = { 0 };
	struct check check = { .sink = { check_op }, .thread = PLAYER_MAIN };
	struct op_stream stream;
	struct outline outline;
	const int fd = *(int *)*unused;
	look(&outline, fd);
	assert_true(op_stream_init(&stream, &outline, &vectors, &check.sink, true));
	read_trace(fd, &stream.observer);
	pass_nothing(&check);
	assert_int_equal(check.next, STEPS);
	assert_int_equal(check.thread_ends, 2);
	assert_true(check.ended && check.samples > OP_SAMPLES / 2 && check.samples <= OP_SAMPLES + 2);
	assert_int_equal(stream.n_moments, check.samples);
	assert_int_equal(stream.moments[stream.peak].bytes, most_bytes);
	assert_int_equal(stream.moments[stream.n_moments - 1].bytes, bytes);
	uint32_t owned = 0;
	for (uint32_t i = 0; i < outline.slots; i++)
		owned += stream.owners[i] != MST_NONE;
	assert_int_equal(owned, live);
	op_stream_finish(&stream);
	outline_finish(&outline);
}

/* It stops behind the peak; what lives then is what the model says. */
static void test_stop(void **unused)
{
	const struct thread_vectors vectors = { 0 };
	struct check check = { .sink = { check_op }, .thread = PLAYER_MAIN };
	struct op_stream stream;
	struct outline outline;
	const int fd = *(int *)*unused;
	look(&outline, fd);
	assert_true(op_stream_init(&stream, &outline, &vectors, &check.sink, false));
	stream.stops = true;
	stream.before = outline.peak_record + 1;
	read_trace(fd, &stream.observer);
	assert_true(check.ended && stream.stopped);
	assert_int_equal(check.next, most_step + 1);
	assert_int_equal(stream.now.bytes, most_bytes);
	op_stream_finish(&stream);
	outline_finish(&outline);
}

/* ---- Ends of threads ---- */

static void test_thread_ends(void **unused)
{
	uint8_t kinds[] = { 0, 1, 0 };
	const struct thread_vectors vectors = { .kinds = kinds, .n = 3, .any = true };
	struct thread_ends ends;
	(void)unused;
	assert_true(thread_ends_init(&ends, &vectors, 10));
	/* Two threads are made, and both call; a block of another kind is none. */
	thread_ends_block(&ends, 1, true);
	thread_ends_block(&ends, 1, true);
	thread_ends_block(&ends, 2, true);
	thread_ends_block(&ends, 7, true);
	assert_int_equal(thread_ends_before(&ends, 1), MST_NONE);
	assert_int_equal(thread_ends_before(&ends, 2), MST_NONE);
	thread_ends_last(&ends, 2);
	thread_ends_last(&ends, 1);
	/* A third one with a vector of its own ends nothing; one without has that of the thread that was done first. */
	thread_ends_block(&ends, 1, true);
	assert_int_equal(thread_ends_before(&ends, 3), MST_NONE);
	assert_int_equal(thread_ends_before(&ends, 4), 2);
	assert_int_equal(thread_ends_before(&ends, 4), MST_NONE);
	assert_int_equal(thread_ends_before(&ends, 4), MST_NONE);
	/* A vector goes with its thread. */
	thread_ends_block(&ends, 1, false);
	assert_int_equal(thread_ends_before(&ends, 5), 1);
	assert_int_equal(thread_ends_before(&ends, 5), MST_NONE);
	assert_int_equal(thread_ends_now(&ends), MST_NONE);
	ends.at_once = true;
	thread_ends_last(&ends, 4);
	assert_int_equal(thread_ends_now(&ends), 4);
	assert_int_equal(thread_ends_now(&ends), MST_NONE);
	thread_ends_finish(&ends);
}

static int make_trace(void **unused)
{
	static int fd;
	fd = write_trace();
	*unused = &fd;
	return fd < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_thread_ends),
	};

	return cmocka_run_group_tests(tests, make_trace, NULL);
}
