/* SPDX-License-Identifier: MIT */
/*
 * A random trace and the expected answers of its reader. The model keeps every definition and event that it gave to
 * the writer, and compares a reader's answers with them one by one. The same seed gives the same trace. A difference
 * ends the program with a message.
 */
#ifndef TRACE_MODEL_H
#define TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mst_writer.h"

/* An assertion that NDEBUG doesn't disable. */
#define MUST(condition) model_must(condition, #condition, __FILE__, __LINE__)
void model_must(bool condition, const char *text, const char *file, int line);

/* Units of the model's times: 2^10 ns. */
#define MODEL_TIME_SHIFT 10u

struct model_vector {
	void *items;
	size_t n, capacity;
};

struct model_block {
	uint32_t kind;
	uint64_t index, ordinal;
};

struct model {
	uint64_t random; /* state of the generator */
	struct mst_writer *writer;
	int fd; /* a memfd, -1 between fork_state and fork_file */
	bool identity;
	struct mst_file_info info;
	struct model_vector modules; /* struct mst_module, as given */
	struct model_vector threads, frames, stacks, kinds;
	struct model_vector events; /* struct mst_event; the time is the true one */
	struct model_vector steps;  /* struct mst_sp_change; `record` is the number of the event behind it */
	struct model_vector blocks; /* struct model_block, live */
	struct model_vector counts; /* uint64_t, by kind: blocks so far */
	struct model_vector memory; /* struct mst_memory_sample */
	uint64_t peak_resident;
	struct model_vector thread_names; /* struct mst_thread_name, names constant */
	struct model_vector scripts;      /* struct mst_script, texts constant */
	uint64_t null_frees, allocs;
	uint64_t time_ns, instructions;
	uint64_t stepped; /* instructions as of the last SP change or event */
	uint32_t thread;
};

uint64_t model_random(struct model *m);
/* Evenly from [0, n). */
uint32_t model_below(struct model *m, uint32_t n);

/* Every other seed of eight has instruction counts. */
void model_create(struct model *m, uint64_t seed, const struct mst_writer_options *options);
void model_destroy(struct model *m);

/* The child of a fork: first without a file, then with one. */
void model_fork_state(struct model *parent, struct model *child);
void model_fork_file(struct model *child);

/* A new kind (with thread, module, frame and stack now and then): its id. */
uint32_t model_kind(struct model *m);
/* One random thing: definitions, a call, a jump in time, a flush. */
void model_step(struct model *m);
/* What the writer is given at the end. */
struct mst_end model_end(const struct model *m);
void model_finish(struct model *m);

bool model_same_kind(const struct mst_kind *a, const struct mst_kind *b);

/* Whole bytes of a trace, and a memfd that holds given ones, positioned at its start. */
uint8_t *model_bytes(const struct model *m, size_t *size);
int model_memfd(const void *data, size_t size);

/* How a reading went. */
struct model_reading {
	int status;    /* of mst_reader_create() or the last mst_reader_next() */
	size_t events; /* delivered, all equal to the model's first ones */
	size_t steps;  /* the same */
	uint64_t null_frees;
	char problem[160];
};

/* Reads everything from `fd`: the delivered events must be the model's first ones. */
struct model_reading model_read(const struct model *m, int fd);
/* The same with chunks decoded ahead by `threads` threads. */
struct model_reading model_read_ahead(const struct model *m, int fd, unsigned threads);

#endif
