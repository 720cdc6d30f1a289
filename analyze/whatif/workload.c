/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include <stdlib.h>
#include <unistd.h>

#include "array.h"
#include "file.h"

enum { BLOCK = 16384, NUMBER = 10, OPERATION = 1 + 3 * NUMBER, PAGE = 4096 };

/* Codes of the format. */
enum code {
	CODE_DONE = 1,
	CODE_MALLOC = 2,    /* pointer, size */
	CODE_CALLOC = 3,    /* pointer, size */
	CODE_REALLOC = 4,   /* new pointer, old pointer, size */
	CODE_FREE = 5,      /* pointer */
	CODE_SYNC_SET = 6,  /* sync */
	CODE_SYNC_WAIT = 7, /* sync */
	CODE_POINTERS = 8,  /* how many; pointer 0 is NULL */
	CODE_SYNCS = 9,     /* how many */
	CODE_THREADS = 10,  /* how many */
	CODE_START = 11,    /* offset of the thread's stream in the file */
	CODE_MEMALIGN = 12, /* pointer, alignment, size */
};

/* A stream: whole blocks in the file, and what follows them. */
struct workload_thread {
	uint64_t *blocks; /* [n] numbers */
	size_t n, room;
	uint8_t *bytes; /* [BLOCK + OPERATION]; NULL: the thread made no call */
	size_t n_bytes;
};

static size_t encode(uint64_t n, uint8_t bytes[NUMBER])
{
	size_t length = 1;
	for (uint64_t rest = n >> 7; rest; rest >>= 7)
		length++;
	for (size_t i = length; i-- > 0; n >>= 7)
		bytes[i] = (uint8_t)((n & 0x7f) | (i + 1 < length ? 0x80 : 0));
	return length;
}

/* ---- Streams ---- */

static int spill(struct workload *w, struct workload_thread *t)
{
	if (!array_reserve(&t->blocks, t->n, &t->room, sizeof(*t->blocks)))
		return MST_ERR_NOMEM;
	if (!file_write_at(w->fd, w->blocks * BLOCK, t->bytes, BLOCK))
		return MST_ERR_IO;
	t->blocks[t->n++] = w->blocks++;
	t->n_bytes -= BLOCK;
	for (size_t i = 0; i < t->n_bytes; i++)
		t->bytes[i] = t->bytes[BLOCK + i];
	return 0;
}

/* A code and at most three numbers. */
static int add(struct workload *w, uint32_t thread, enum code code, unsigned n, const uint64_t numbers[])
{
	struct workload_thread *const t = &w->threads[thread];
	if (!t->bytes && !(t->bytes = malloc(BLOCK + OPERATION)))
		return MST_ERR_NOMEM;
	t->bytes[t->n_bytes++] = (uint8_t)code;
	for (unsigned i = 0; i < n; i++)
		t->n_bytes += encode(numbers[i], t->bytes + t->n_bytes);
	return t->n_bytes >= BLOCK ? spill(w, t) : 0;
}

/* The order between the call before and the next one. */
static int order(struct workload *w)
{
	const uint32_t before = w->last;
	w->last = w->thread;
	if (before == w->thread || before > w->n_threads)
		return 0;
	const uint64_t sync = ++w->syncs;
	const int error = add(w, before, CODE_SYNC_SET, 1, &sync);
	return error ? error : add(w, w->thread, CODE_SYNC_WAIT, 1, &sync);
}

/* ---- Operations ---- */

static int add_aligned(struct workload *w, const struct player_op *op, uint64_t align, uint64_t size)
{
	const uint64_t numbers[] = { op->slot + (uint64_t)1, align, size };
	return add(w, w->thread, CODE_MEMALIGN, 3, numbers);
}

static int add_call(struct workload *w, const struct player_op *op)
{
	const uint64_t pointer = op->slot + (uint64_t)1;
	const uint64_t fresh[] = { pointer, op->size }, same[] = { pointer, pointer, op->size };
	switch ((enum player_code)op->code) {
	case PLAY_CALLOC:
		return add(w, w->thread, CODE_CALLOC, 2, fresh);
	case PLAY_REALLOC:
		return add(w, w->thread, CODE_REALLOC, 3, same);
	case PLAY_VALLOC:
		return add_aligned(w, op, PAGE, op->size);
	case PLAY_PVALLOC:
		return add_aligned(w, op, PAGE,
				   op->size > UINT64_MAX - PAGE ? op->size
								: (op->size + PAGE - 1) & -(uint64_t)PAGE);
	case PLAY_FREE:
	case PLAY_DELETE:
	case PLAY_DELETE_ARRAY:
		return add(w, w->thread, CODE_FREE, 1, fresh);
	default:
		return op->align_log2 ? add_aligned(w, op, (uint64_t)1 << op->align_log2, op->size)
				      : add(w, w->thread, CODE_MALLOC, 2, fresh);
	}
}

static int put(struct op_sink *sink, const struct player_op *op)
{
	struct workload *const w = (struct workload *)sink;
	if (op->code == PLAY_THREAD)
		w->thread = op->slot == PLAYER_MAIN ? w->n_threads : op->slot;
	if (op->code >= PLAY_THREAD)
		return 0;
	const int error = order(w);
	return error ? error : add_call(w, op);
}

/* ---- The file ---- */

static uint64_t length_of(const struct workload_thread *t)
{
	return (uint64_t)t->n * BLOCK + t->n_bytes;
}

static void write_number(struct out *out, enum code code, uint64_t n)
{
	uint8_t bytes[1 + NUMBER] = { (uint8_t)code };
	out_write(out, bytes, 1 + encode(n, bytes + 1));
}

static size_t size_of_number(uint64_t n)
{
	uint8_t bytes[NUMBER];
	return 1 + encode(n, bytes);
}

/* Streams begin behind the header, whose size depends on where they begin. */
static uint64_t header_size(const struct workload *w, uint64_t n_threads, uint64_t guess)
{
	uint64_t at = guess;
	uint64_t size = size_of_number(w->n_slots + (uint64_t)1) + size_of_number(w->syncs + 1) +
			size_of_number(n_threads) + 1;
	for (uint32_t i = 0; i <= w->n_threads; i++) {
		if (!w->threads[i].bytes)
			continue;
		size += size_of_number(at);
		at += length_of(&w->threads[i]);
	}
	return size;
}

static void write_header(const struct workload *w, uint64_t n_threads, struct out *out)
{
	uint64_t at = 0, size = header_size(w, n_threads, 0);
	while (at != size) {
		at = size;
		size = header_size(w, n_threads, at);
	}
	write_number(out, CODE_POINTERS, w->n_slots + (uint64_t)1);
	write_number(out, CODE_SYNCS, w->syncs + 1);
	write_number(out, CODE_THREADS, n_threads);
	for (uint32_t i = 0; i <= w->n_threads; i++) {
		if (!w->threads[i].bytes)
			continue;
		write_number(out, CODE_START, at);
		at += length_of(&w->threads[i]);
	}
	out_write(out, &(const char){ CODE_DONE }, 1);
}

static bool write_stream(const struct workload *w, const struct workload_thread *t, struct out *out)
{
	uint8_t *block = malloc(BLOCK);
	bool fine = block;
	for (size_t i = 0; i < t->n && fine; i++) {
		fine = file_read_at(w->fd, t->blocks[i] * BLOCK, block, BLOCK);
		if (fine)
			out_write(out, block, BLOCK);
	}
	if (fine)
		out_write(out, t->bytes, t->n_bytes);
	free(block);
	return fine;
}

bool workload_write(struct workload *workload, struct out *out)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i <= workload->n_threads; i++) {
		if (!workload->threads[i].bytes)
			continue;
		n++;
		if (add(workload, i, CODE_DONE, 0, NULL) != 0)
			return false;
	}
	write_header(workload, n, out);
	for (uint32_t i = 0; i <= workload->n_threads; i++) {
		if (workload->threads[i].bytes && !write_stream(workload, &workload->threads[i], out))
			return false;
	}
	return true;
}

bool workload_init(struct workload *workload, uint32_t n_threads, uint32_t n_slots)
{
	*workload = (struct workload){
		.sink = { put },
		.threads = calloc(n_threads + (size_t)1, sizeof(*workload->threads)),
		.n_threads = n_threads,
		.n_slots = n_slots,
		.thread = n_threads,
		.last = n_threads + 1,
		.fd = file_unnamed(),
	};
	return workload->threads && workload->fd >= 0;
}

void workload_finish(struct workload *workload)
{
	for (uint32_t i = 0; workload->threads && i <= workload->n_threads; i++) {
		free(workload->threads[i].blocks);
		free(workload->threads[i].bytes);
	}
	free(workload->threads);
	if (workload->fd >= 0)
		close(workload->fd);
	*workload = (struct workload){ .fd = -1 };
}
