/* SPDX-License-Identifier: MIT */
/*
 * libmstrace, the writing side; mstrace.h has the words, units and rules of threads, errors and memory.
 *
 * A trace is written in this order:
 *
 *   mst_writer_create()
 *   definitions, each before its first use: mst_writer_module(), _frame(), _stack(), _kind(), _thread()
 *   the initial state, if the file info announces one, up to mst_writer_end_initial_state()
 *   mst_writer_at() and the events: mst_writer_alloc(), _free(), _resize(), _call() ...
 *   mst_writer_names(), if the trace is to hold names
 *   mst_writer_finish(), mst_writer_destroy()
 *
 * The writer keeps to mst_limits.h: what it writes can be read. After a failed write its functions return the
 * same error again; the file is readable up to the last flushed chunk.
 */
#ifndef MST_WRITER_H
#define MST_WRITER_H

#include "mstrace.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct mst_writer;

/* Zero-initialise. */
struct mst_writer_options {
	int level;              /* zstd level, 0 = default */
	uint32_t chunk_records; /* records a chunk; 0 = from 2^16, growing with the trace to 2^18 */
	bool identity;          /* write which block of its kind a free names */
	bool recoded;     /* choose the smaller encoding of ordinals, chunk by chunk; fewer key frames */
	bool exact_times; /* stamp each time of mst_writer_at(), not only every 64 units or records */
	/*
	 * `fd` is a pipe, or a file that holds more than the trace: it is written from front to end, and neither read
	 * nor cut. A failed write ends the trace; there is no mst_writer_fork_file() of its children.
	 */
	bool stream;
	/*
	 * Records between two key frames, at which readers can begin; they stand between chunks. 0 = default,
	 * as many as make their cost small.
	 */
	uint32_t keyframe_records;
	/*
	 * Called with `context` when a disk or a quota is full, by the function that wanted to write. It may
	 * wait; true = try again. NULL: the write fails.
	 */
	bool (*wait_for_room)(void *context);
	void *context;
};

/* ---- life ---- */

/*
 * Starts a trace on `fd`, an empty regular file that is open for reading and writing, unless options->stream. `fd` stays the caller's
 * and must stay open. Only mst_writer_fork_file() reads it.
 */
int mst_writer_create(struct mst_writer **writer, int fd, const struct mst_file_info *info,
		      const struct mst_writer_options *options);

/*
 * Begins a trace on `fd`, as mst_writer_create() does, with the first `bytes` of the trace in the file
 * `from`: mst_reader_sound_bytes() of a reader that has come to its end. Names, index and END are left out.
 * Only mst_writer_names() and mst_writer_finish(), with the reader's END, may follow.
 */
int mst_writer_append(struct mst_writer **writer, int fd, int from, uint64_t bytes);

/*
 * Makes a writer with a file of its own that begins with all that `parent` holds: a forked child has its
 * parent's history. mst_writer_fork_state() copies everything but the file, the unsealed chunk included;
 * mst_writer_fork_file() adds the file. Nothing may be recorded between the two.
 */
int mst_writer_fork_state(struct mst_writer *parent, struct mst_writer **child);
int mst_writer_fork_file(struct mst_writer *child, int fd, const struct mst_file_info *info);

/* Writes what is buffered: the file is readable up to here. */
int mst_writer_flush(struct mst_writer *w);
/* The same, and the samples of memory, of which mst_writer_flush() keeps back what is not yet worth its bytes. */
int mst_writer_flush_all(struct mst_writer *w);

/*
 * Flushes, writes index and END, which is *end as the caller fills it. After a failed write END is still
 * written if there is room; the events that could not be written are added to end->lost and taken from
 * end->events. The error is returned again.
 */
int mst_writer_finish(struct mst_writer *w, struct mst_end *end);

/* Frees the writer without finishing the file, whose sealed chunks are readable. NULL is allowed. */
void mst_writer_destroy(struct mst_writer *writer);

/* ---- definitions ---- */

/* Equal content gives the same id, except for threads, which are always new. */
int mst_writer_module(struct mst_writer *w, const struct mst_module *module, uint32_t *id);
int mst_writer_thread(struct mst_writer *w, const struct mst_thread *thread, uint32_t *id);
int mst_writer_frame(struct mst_writer *w, const struct mst_frame *frame, uint32_t *id);
/*
 * The frame of an address in no module once more: there is other code by now. From here on mst_writer_frame() gives this
 * one.
 */
int mst_writer_frame_again(struct mst_writer *w, const struct mst_frame *frame, uint32_t *id);
/* A function of a script; mst_script_address() is the address of a frame of it. MST_ERR_LIMIT: too many, or a text is too long. */
int mst_writer_script(struct mst_writer *w, const struct mst_script *script, uint32_t *id);
int mst_writer_stack(struct mst_writer *w, const struct mst_stack *stack, uint32_t *id);
int mst_writer_kind(struct mst_writer *w, const struct mst_kind *kind, uint32_t *id);

/*
 * The name that a thread has from a time on, cut behind MST_MAX_THREAD_NAME bytes. A time below that of the thread's
 * last name is not allowed. MST_ERR_LIMIT: there are as many names as a trace can have.
 */
int mst_writer_thread_name(struct mst_writer *w, uint32_t thread, uint64_t time_ns, const char *name);

/*
 * A mark between the last event and the next one; `thread` set it, MST_NONE: no thread of the program did. It moves the time
 * of the next event; a time below the present one counts as that. The name is cut behind MST_MAX_MARK bytes. Not in the initial state. MST_ERR_LIMIT:
 * there are as many marks as a trace can have.
 */
int mst_writer_mark(struct mst_writer *w, uint64_t time_ns, uint32_t thread, const char *name);

/*
 * The end of a thread, between the last event and the next one; a time below the present one, or that of the last end,
 * counts as that. Once for each thread, which makes no more events. Not in the initial state.
 */
int mst_writer_thread_end(struct mst_writer *w, uint64_t time_ns, uint32_t thread);

/* Definitions so far, by id; valid until the next definition. `id` of a kind must exist. */
uint32_t mst_writer_kinds(const struct mst_writer *w);
const struct mst_kind *mst_writer_kind_at(const struct mst_writer *w, uint32_t id);
const struct mst_frame *mst_writer_frames(const struct mst_writer *w, uint32_t *n);
const struct mst_module *mst_writer_modules(const struct mst_writer *w, uint32_t *n);
const struct mst_script *mst_writer_scripts(const struct mst_writer *w, uint32_t *n);
const struct mst_stack *mst_writer_stacks(const struct mst_writer *w, uint32_t *n);

/* ---- the initial state ---- */

/*
 * Before the first event of a trace whose info has `initial_state`: mst_writer_alloc() for each block that is live
 * when the trace begins, in the order of allocation; mst_writer_call() for stack depths, mappings and the end
 * of the exit handlers; mst_writer_page() for pages. These are no calls. mst_writer_at() gives the
 * allocations' times, at most the info's begin_ns, and threads, as far as they are known.
 *
 * mst_writer_past() comes before all of these: the kind has had blocks, live or not. It is called for the
 * first kind of each stack, in the order of first use.
 */
int mst_writer_past(struct mst_writer *w, uint32_t kind);
int mst_writer_end_initial_state(struct mst_writer *w);

/* ---- events ---- */

/* Time and thread of the following events. A time below the last one counts as the last one. */
void mst_writer_at(struct mst_writer *w, uint64_t time_ns, uint32_t thread);

/*
 * Instructions executed at the following events, at most 2^63 - 1; a count below the last one counts as the
 * last one. Only for traces whose info has `instructions`.
 */
void mst_writer_instructions(struct mst_writer *w, uint64_t count);

/*
 * A block is named by its kind and ordinal, which the call that allocates it returns. UINT64_MAX: the block
 * is unknown. A freed block must not be named again: readers take it for an unknown one.
 */
int mst_writer_alloc(struct mst_writer *w, uint32_t kind, uint64_t *ordinal);
int mst_writer_free(struct mst_writer *w, uint32_t kind, uint64_t ordinal);
/*
 * Freed by a call with a kind: its stack is known, or it is not the function that belongs to the block; `call` is a
 * kind without block (MST_OP_FREE, MST_OP_REALLOC_FREE ...).
 */
int mst_writer_free_by(struct mst_writer *w, uint32_t kind, uint64_t ordinal, uint32_t call);
/* One event: the old block goes, the new one comes. */
int mst_writer_resize(struct mst_writer *w, uint32_t old_kind, uint64_t old_ordinal, uint32_t kind,
		      uint64_t *ordinal);
/* A realloc that failed: the old block stays. With MST_OP_FREED_BEFORE the block is gone. */
int mst_writer_failed_resize(struct mst_writer *w, uint32_t old_kind, uint64_t old_ordinal, uint32_t kind);
/*
 * The thread of the event before has allocated a block that isn't in the trace. So the last block that is, if it is freed
 * next, doesn't count as temporary.
 */
void mst_writer_left_out(struct mst_writer *w);
/* A call that changed nothing: it failed, or `kind` is a marker. */
int mst_writer_call(struct mst_writer *w, uint32_t kind);
/* A marker without stack; defines its kind. `flags`: enum mst_kind_flag. */
int mst_writer_marker(struct mst_writer *w, uint8_t op, uint8_t flags, uint64_t size);
/* A marker about pages (mst_op_is_page()): of the kind's size, at `address`. */
int mst_writer_page(struct mst_writer *w, uint32_t kind, uint64_t address);
/* Calls of free(NULL), which are counted by chunk. */
void mst_writer_null_frees(struct mst_writer *w, uint64_t n);

/*
 * Changes of the stack pointer since the last event, in traces with instruction counts. A trace is written
 * with one of the two functions. mst_writer_sp_changes() takes whole changes in the encoding of FORMAT.md, in
 * order. mst_writer_sp_change() takes one, as in struct mst_sp_change; a count of instructions below that of
 * the last event or change counts as that.
 */
int mst_writer_sp_changes(struct mst_writer *w, const uint8_t *changes, size_t size);
int mst_writer_sp_change(struct mst_writer *w, uint64_t grown, uint64_t instructions);

/* Time and count of instructions of the next event, unless mst_writer_at() gives a later time. */
uint64_t mst_writer_time(const struct mst_writer *w);
uint64_t mst_writer_instruction_count(const struct mst_writer *w);

/* Calls so far; the next ordinal of a kind, which is its number of blocks so far; bytes written so far. */
uint64_t mst_writer_events(const struct mst_writer *w);
uint64_t mst_writer_blocks(const struct mst_writer *w, uint32_t kind);
uint64_t mst_writer_bytes(const struct mst_writer *w);

/*
 * What the chunks that are written add up to, and how many of their events are calls, free(NULL)s among them, and not markers.
 * After mst_writer_flush() these are all events.
 */
const struct mst_sums *mst_writer_sums(const struct mst_writer *w);
uint64_t mst_writer_calls(const struct mst_writer *w);

/* Packs from here on at zstd's level 1, if that is below the writer's, or at the writer's level again. */
void mst_writer_fast_level(struct mst_writer *w, bool fast);

/* ---- the process's memory ---- */

/*
 * A sample, at any time before mst_writer_names(); sample->time is ignored, and a time below the last sample's
 * counts as that. The file gets samples in units of up to 128. MST_ERR_LIMIT: there are as many as a trace can
 * have.
 */
int mst_writer_memory(struct mst_writer *w, uint64_t time_ns, const struct mst_memory_sample *sample);

/* The most bytes resident so far; a number below an earlier one counts as that. */
int mst_writer_peak_resident(struct mst_writer *w, uint64_t bytes);

/* ---- names ---- */

/*
 * The calls that a frame stands for, from the innermost; `n` is at least 1. Behind the last event, frames
 * ascending. MST_ERR_LIMIT: these names are beyond mst_limits.h and are not in the trace; others may follow.
 */
int mst_writer_names(struct mst_writer *w, uint32_t frame, const struct mst_name *names, uint32_t n);

/*
 * Promises that texts keep address and content until the last mst_writer_names(): each is then read once,
 * however often it is named.
 */
void mst_writer_steady_texts(struct mst_writer *w);

/* ---- from one trace to another ---- */

/*
 * Defines in a writer what a reader has defined, each thing when it is first asked for. The caller maps kinds
 * itself. Reader and writer stay the caller's and must outlive the remap. With `strip_paths` modules are
 * known by the last part of their path, and source files have no directories. Functions return 0, the
 * writer's error, or MST_ERR_ARGUMENT for an id that the reader lacks.
 */
struct mst_remap;

int mst_remap_create(struct mst_remap **remap, const struct mst_reader *from, struct mst_writer *to,
		     bool strip_paths);
void mst_remap_destroy(struct mst_remap *remap); /* NULL is allowed */

/* From a writer instead of a reader: only frames and stacks can be asked for. */
int mst_remap_between(struct mst_remap **remap, const struct mst_writer *from, struct mst_writer *to);

/* What a text is the name of. */
enum mst_text { MST_TEXT_MODULE, MST_TEXT_FUNCTION, MST_TEXT_FILE, MST_TEXT_THREAD };

/*
 * Before anything is asked for: names of modules, functions, source files and threads become what `rename` makes of
 * them; directories and build ids are left out. `module` is the path of the module that a function or file is of, NULL:
 * none. What `rename` returns must stay until mst_remap_destroy(); NULL: no memory.
 */
typedef const char *mst_rename(void *context, enum mst_text what, const char *text, const char *module);
void mst_remap_rename(struct mst_remap *remap, mst_rename *rename, void *context);

/*
 * The writer's *id of the reader's thread, frame or stack. A thread gets its names, too, those that are read later by
 * mst_remap_thread_names().
 */
int mst_remap_thread(struct mst_remap *remap, uint32_t thread, uint32_t *id);
int mst_remap_frame(struct mst_remap *remap, uint32_t frame, uint32_t *id);
int mst_remap_stack(struct mst_remap *remap, uint32_t stack, uint32_t *id);
int mst_remap_thread_names(struct mst_remap *remap);

/* Writes the end of a thread before the next event, unless the thread was never asked for. */
int mst_remap_thread_end(struct mst_remap *remap, const struct mst_thread_end *end, uint64_t time_ns);

/* Behind the last event: the names that the reader's trace has of the remapped frames. */
int mst_remap_names(struct mst_remap *remap);

/* Behind the last event: the libraries that no frame is in, such as the allocator. */
int mst_remap_libraries(struct mst_remap *remap);

/* Which of the remapped modules are gone at the end. */
int mst_remap_unloaded(struct mst_remap *remap);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
