/* SPDX-License-Identifier: MIT */
/*
 * libmstrace: write and read heap traces (FORMAT.md is the specification).
 *
 * A trace is what a program asked of its allocator, in one total order: which call (operation),
 * with which stack, of which size. A *kind* is one distinct (operation, stack, size, ...); every
 * record names a kind, never an address. Stacks are nodes of a tree that grows from the
 * outermost frame inwards; a frame is a (module, link-time address) pair. Kinds, stacks,
 * frames, modules and threads are dense ids from 0, defined before their first use.
 *
 * Threads: an object may be used by one thread at a time; different objects are independent.
 * Errors: functions return 0 (or a count) on success and a negative enum mst_error otherwise.
 * Memory: what a function hands out belongs to the object and lives until the call named there.
 * A trace is hostile input: the reader checks every length against the bytes that are left and
 * against mst_limits.h before it allocates or reads.
 */
#ifndef MSTRACE_H
#define MSTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mst_op.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum mst_error {
	MST_ERR_IO = -1, /* errno tells more */
	MST_ERR_NOMEM = -2,
	MST_ERR_NOT_A_TRACE = -3, /* the file doesn't begin with a FILE unit */
	MST_ERR_VERSION = -4,     /* a version or an incompatible feature that this reader lacks */
	MST_ERR_DAMAGED = -5,     /* a check failed; mst_reader_problem() says what and where */
	MST_ERR_TRUNCATED = -6,   /* the file ends inside a unit or without an END unit */
	MST_ERR_LIMIT = -7,       /* a limit of mst_limits.h would be exceeded */
	MST_ERR_ARGUMENT = -8,    /* the caller named an id that doesn't exist */
	MST_ERR_IDENTITY = -9,    /* which block a record is about is wanted, and wasn't recorded */
	MST_ERR_EMPTY = -10,      /* not a byte: its writer was stopped before the first one */
};

/* A constant one-line description of an enum mst_error. */
const char *mst_strerror(int error);

#define MST_NONE UINT32_MAX /* no kind, no module */
#define MST_ROOT_STACK 0u   /* the empty stack */
#define MST_UNKNOWN_KIND 0u /* kind 0 is always MST_OP_UNKNOWN with no stack and no size */

/* ---- What a trace is made of -------------------------------------------------------------- */

enum mst_kind_flag {
	MST_KIND_OVERFLOW = 1, /* the product of calloc's or reallocarray's arguments overflowed */
	MST_KIND_ALIGNED = 2,  /* given by the memalign family or aligned operator new, or by
				* reallocs from such a block or from one never seen allocated
				* (memusage doesn't see these) */
	MST_KIND_USABLE = 4,   /* how many bytes the allocator gave is known */
	MST_KIND_FAILED = 8,   /* the call of a mark (mmap and its like) failed */
};

struct mst_kind {
	uint8_t op;         /* enum mst_op */
	uint8_t flags;      /* enum mst_kind_flag */
	uint8_t align_log2; /* requested alignment, 0 = none asked for */
	uint32_t stack;
	uint64_t size; /* bytes requested */
	/*
	 * The largest size requested along the chain of in-place or moving reallocs that led to
	 * this block, itself included (cap >= size). Massif leaves a block in place when it shrinks,
	 * so what the block takes is cap rounded up.
	 */
	uint64_t cap;
	uint64_t usable; /* with MST_KIND_USABLE: bytes given, at least size; else 0 */
};

struct mst_stack {
	uint32_t parent; /* the next outer frame's stack; MST_ROOT_STACK at the outermost */
	uint32_t frame;
};

struct mst_frame {
	uint32_t module;  /* MST_NONE: code in no known object */
	uint64_t address; /* link-time address in the module, else the run-time address;
				 * the return address minus one */
};

enum mst_module_role {
	MST_MODULE_LIBRARY = 0,
	MST_MODULE_EXECUTABLE = 1,
	MST_MODULE_INTERPRETER = 2,
	MST_MODULE_VDSO = 3,
	MST_MODULE_UNLOADED = 4, /* none: says that module number `order` is gone when the trace ends */
};

#define MST_BUILD_ID_MAX 64

struct mst_module {
	const char *path;      /* absolute path, or a name in brackets such as "[vdso]" */
	uint8_t role;          /* enum mst_module_role */
	uint8_t build_id_size; /* 0 = it has none */
	uint8_t build_id[MST_BUILD_ID_MAX];
	uint32_t order;      /* position in load order */
	uint64_t start, end; /* run-time addresses */
	uint64_t bias;       /* run-time address minus link-time address */
};

struct mst_thread {
	uint32_t tid; /* the kernel's thread id */
};

/* One of the calls that a frame stands for. Texts are NULL where nothing is known. */
struct mst_name {
	const char *function; /* of the last: as in the symbol table, not demangled; of others: the
				 * plain name of the inlined function */
	const char *directory;
	const char *file; /* as in the line table: a base name as a rule */
	uint32_t line;    /* 0: unknown, or code of no one line */
};

struct mst_file_info {
	uint32_t pid;
	uint32_t parent_pid; /* of the process this one forked from, 0 if it was started */
	uint16_t machine;    /* ELF e_machine of the recorded program */
	uint32_t page_size;
	uint64_t start_ns;     /* CLOCK_REALTIME at time 0 */
	uint64_t sample_bytes; /* mean distance of sample points, see FORMAT.md; 0: all blocks are here */
	bool instructions;     /* it is known how many instructions had been executed at each call */
	bool stacks; /* MST_OP_STACK marks or steps tell how deep stacks are, if they are ever deeper than 0 */
	bool pages;  /* calls that map and unmap pages are in the trace */
	bool exact;  /* the program ran under Valgrind: addresses, sizes and counts are those of Massif */
	bool base;   /* it begins in the midst of a program's life, with what was live then */
	uint64_t begin_ns;    /* when that was, since time 0; 0 without a base */
	const char *recorder; /* program and version that wrote the trace */
	const char *exe;      /* absolute path of the executable */
	const char *cwd;      /* working directory at the start */
	uint32_t argc;
	const char *const *argv;
};

enum mst_end_reason {
	MST_END_EXIT = 0,     /* detail = exit status */
	MST_END_SIGNAL = 1,   /* detail = signal number */
	MST_END_EXEC = 2,     /* the process went on as another program */
	MST_END_DETACHED = 3, /* recording stopped, the process went on */
	MST_END_UNKNOWN = 4,  /* the process is gone, nobody could ask how; or a later revision's reason */
};

struct mst_end {
	uint8_t reason; /* enum mst_end_reason */
	uint32_t detail;
	uint64_t time_ns;       /* since time 0 */
	uint64_t events;        /* API calls in the trace, free(NULL) included */
	uint64_t lost;          /* events that could not be kept */
	uint64_t unknown_frees; /* frees of blocks never seen allocated */
	uint64_t implied_frees; /* blocks whose free was never seen */
};

/* ---- Writing -------------------------------------------------------------------------------- */

struct mst_writer;

struct mst_writer_options {
	int level;              /* zstd level, 0 = default */
	uint32_t chunk_records; /* records a chunk; 0 = 2^16 to 2^18, the more there are */
	bool identity;          /* write which block of its kind a free names */
	bool recoded; /* look for the smallest of several forms of columns; older readers refuse the trace */
	bool exact_times; /* stamp each time that mst_writer_at() tells, not only every 64 units or records */
	/*
	 * Records between two key frames, which let readers begin in the middle: 0 = default, as many as
	 * make them cost little. They only stand between chunks.
	 */
	uint32_t keyframe_records;
	/*
	 * Asked with `context` when a disk or a quota is full, by the call that wanted to write: true =
	 * try again (it is this function that waits). NULL: the write fails.
	 */
	bool (*wait_for_room)(void *context);
	void *context;
};

/*
 * Starts a trace on `fd`, which stays the caller's and must be a regular file, open for reading
 * and writing, empty. Nothing is read back except by mst_writer_fork_file().
 */
int mst_writer_create(struct mst_writer **writer, int fd, const struct mst_file_info *info,
		      const struct mst_writer_options *options);

/*
 * Makes a writer that begins with all that `parent` holds, on a file of its own (the child of a fork has its parent's
 * history). What isn't sealed yet is copied as it is, and either seals it when it is due.
 * mst_writer_fork_state() does the first half (everything but the file) when the file is not
 * wanted yet; mst_writer_fork_file() the second; between them nothing may be recorded.
 */
int mst_writer_fork_state(struct mst_writer *parent, struct mst_writer **child);
int mst_writer_fork_file(struct mst_writer *child, int fd, const struct mst_file_info *info);

/* Frees the writer without finishing the file: what is sealed is readable. NULL is allowed. */
void mst_writer_destroy(struct mst_writer *writer);

/* Definitions. All but threads are interned: the same content gives the same id. */
int mst_writer_module(struct mst_writer *w, const struct mst_module *module, uint32_t *id);
int mst_writer_thread(struct mst_writer *w, const struct mst_thread *thread, uint32_t *id);
int mst_writer_frame(struct mst_writer *w, const struct mst_frame *frame, uint32_t *id);
int mst_writer_stack(struct mst_writer *w, const struct mst_stack *stack, uint32_t *id);
int mst_writer_kind(struct mst_writer *w, const struct mst_kind *kind, uint32_t *id);

/* Kinds defined so far, with the unknown one; a kind by its id, which must exist, valid until the next definition. */
uint32_t mst_writer_kinds(const struct mst_writer *w);
const struct mst_kind *mst_writer_kind_at(const struct mst_writer *w, uint32_t id);

/*
 * The base of a trace whose info has one: before anything else mst_writer_alloc() says which blocks are live
 * when the trace begins, in the order in which they came, mst_writer_call() how deep stacks are, how much
 * is mapped and that the exit handlers are done, and mst_writer_page() which pages; these are no calls. Times
 * (not above the info's) and threads are those of the allocations as far as they are known. Then
 * mst_writer_end_initial_state() ends the base.
 * mst_writer_past() comes before all that: there were blocks of the kind, live or not; for the first kind of
 * each stack, in the order of their first use.
 */
int mst_writer_past(struct mst_writer *w, uint32_t kind);
int mst_writer_end_initial_state(struct mst_writer *w);

/* When and by whom the following records were made. A time that goes back counts as the last. */
void mst_writer_at(struct mst_writer *w, uint64_t time_ns, uint32_t thread);

/*
 * How many instructions the process had executed at the following records, at most 2^63 - 1; what isn't more
 * than before counts as the last. For traces whose file info says so.
 */
void mst_writer_instructions(struct mst_writer *w, uint64_t count);

/*
 * Changes of the stack pointer since the last record, as FORMAT.md's column of steps has them: whole ones, and
 * in the order in which they were made; only in traces with instruction counts.
 */
int mst_writer_sp_changes(struct mst_writer *w, const uint8_t *steps, size_t size);

/*
 * The same of one change, by as many bytes as `grown` says (struct mst_sp_change), when so many instructions had
 * been executed: what is less than at the last record or step counts as that. A trace is written with one of
 * the two functions.
 */
int mst_writer_sp_change(struct mst_writer *w, uint64_t grown, uint64_t instructions);

/*
 * Records. A block is named by its kind and its ordinal, which is how many blocks of the kind there were before
 * it: the call that gives it tells. UINT64_MAX: the block is unknown. A block that was freed once cannot be
 * named again: readers would take it for an unknown one.
 */
int mst_writer_alloc(struct mst_writer *w, uint32_t kind, uint64_t *ordinal);
int mst_writer_free(struct mst_writer *w, uint32_t kind, uint64_t ordinal);
/* A free made by another call than free: `call` is a kind with no block (MST_OP_REALLOC_FREE ...). */
int mst_writer_free_by(struct mst_writer *w, uint32_t kind, uint64_t ordinal, uint32_t call);
/* One net step: the old block goes, the new one comes. */
int mst_writer_resize(struct mst_writer *w, uint32_t old_kind, uint64_t old_ordinal, uint32_t kind,
		      uint64_t *ordinal);
/* A call that changed nothing: it failed, or `kind` is a mark. */
int mst_writer_call(struct mst_writer *w, uint32_t kind);
/* Of a mark with a value and no stack, whose kind is found for it; `flags`: enum mst_kind_flag. */
int mst_writer_marker(struct mst_writer *w, uint8_t op, uint8_t flags, uint64_t size);
/* The same for the marks that are about pages (mst_op_is_page()): of the kind's size, at `address`. */
int mst_writer_page(struct mst_writer *w, uint32_t kind, uint64_t address);
/* A realloc that failed: the old block stays. */
int mst_writer_failed_resize(struct mst_writer *w, uint32_t old_kind, uint64_t old_ordinal, uint32_t kind);
/* free(NULL) is only counted, by chunk. */
void mst_writer_null_frees(struct mst_writer *w, uint64_t n);

/*
 * Keeps the names of a frame in the trace: the calls that it stands for, innermost first, at least one.
 * To be called behind the last record, for frames in ascending order.
 */
int mst_writer_names(struct mst_writer *w, uint32_t frame, const struct mst_name *names, uint32_t n);

/*
 * The caller promises that texts stay where they are, unchanged, until its last call of mst_writer_names():
 * then each is looked at once, however long it is and often it is named.
 */
void mst_writer_steady_texts(struct mst_writer *w);

/* Frames, modules and stacks defined so far; valid until the next definition. */
const struct mst_frame *mst_writer_frames(const struct mst_writer *w, uint32_t *n);
const struct mst_module *mst_writer_modules(const struct mst_writer *w, uint32_t *n);
const struct mst_stack *mst_writer_stacks(const struct mst_writer *w, uint32_t *n);

/*
 * Begins a trace on `fd`, as for mst_writer_create(), with the first `bytes` of the one on `from`, which
 * must be a file: mst_reader_sound_bytes() of a reader that has come to its end. Names, index and end
 * are left out. All that may follow are mst_writer_names() and mst_writer_finish(), whose `end` is that of
 * the reader.
 */
int mst_writer_append(struct mst_writer **writer, int fd, int from, uint64_t bytes);

/* Writes what is buffered; the file is readable up to here whatever happens next. */
int mst_writer_flush(struct mst_writer *w);

/*
 * Flushes, writes index and end. `end->events` and the losses are taken from the caller. After a failed
 * write the trace is ended all the same, if there is room for so little: what could not be written is added
 * to the losses in *end, and taken from its events. The error is returned again then.
 */
int mst_writer_finish(struct mst_writer *w, struct mst_end *end);

/* The time of the next record, if mst_writer_at() doesn't tell a later one; and its count of instructions. */
uint64_t mst_writer_time(const struct mst_writer *w);
uint64_t mst_writer_instruction_count(const struct mst_writer *w);

/*
 * Whether what is written from here on shall rather be packed fast than small: at zstd's level 1, if that is
 * lower than the writer's. For a writer that something waits for.
 */
void mst_writer_fast_level(struct mst_writer *w, bool hurry);

/* API calls recorded so far; blocks of a kind, which is the next one's ordinal; bytes written so far. */
uint64_t mst_writer_events(const struct mst_writer *w);
uint64_t mst_writer_blocks(const struct mst_writer *w, uint32_t kind);
uint64_t mst_writer_bytes(const struct mst_writer *w);

/* ---- Reading -------------------------------------------------------------------------------- */

struct mst_reader;

/* What a record does to the blocks of its kind. */
enum mst_role {
	MST_ALLOC = 0, /* one more */
	MST_FREE = 1,  /* one less */
	MST_OUT = 2,   /* one less, by the call that the next record names */
	MST_CALL = 3,  /* none: a failed call, or a mark; or what did the OUT or KEEP before it */
	MST_KEEP = 4,  /* none: the block that a failed realloc, the next record, left alone */
};

struct mst_token {
	uint32_t kind;
	uint16_t role;  /* enum mst_role */
	uint16_t paged; /* 1: each of its records has an entry in addresses[], else 0 */
	uint32_t count; /* records of the chunk that are this token */
};

/* What a chunk did, known without decoding its records. Bytes are those requested; "16" means
 * cap rounded up to 16. max_* are the largest running values inside the chunk, seen from its
 * start and never below 0, taken between calls (a realloc is one step). */
struct mst_sums {
	uint64_t events; /* API calls, without free(NULL) */
	uint64_t null_frees;
	int64_t net_bytes, net_bytes16, net_blocks;
	int64_t max_bytes, max_bytes16, max_blocks;
	uint64_t moved16; /* sum of |change of bytes16| over the calls */
	uint64_t changes; /* calls that changed the number of blocks */
	uint64_t grown;   /* bytes by which reallocs asked for more than the block had */
	uint64_t shrunk;  /* successful reallocs to a smaller size, not 0 */
};

struct mst_stamp {
	uint32_t record; /* from this record of the chunk on ... */
	uint64_t time;   /* ... the time is this, in units of 2^time_shift ns */
};

struct mst_run {
	uint32_t record; /* from this record of the chunk on ... */
	uint32_t thread; /* ... this thread made the records */
};

/* Parts of a chunk that not everybody needs. */
enum mst_column {
	MST_TIMES = 1,
	MST_THREADS = 2,
	MST_IDENTITY = 4, /* of all chunks, then: each is decoded when it is peeked */
	MST_INSTRUCTIONS = 8,
	MST_ADDRESSES = 16,
	MST_SP_CHANGES = 32, /* the same */
	MST_ALL_COLUMNS = 63,
};

/* One chunk of records. Valid until the next call on the reader. */
struct mst_chunk {
	uint64_t first_record; /* number of its first record in the file */
	uint64_t first_alloc;  /* index of its first allocation */
	uint32_t n_records;
	uint32_t n_tokens;
	const struct mst_token *tokens;
	struct mst_sums sums;
	bool base; /* no calls: ALLOCs of what is live when the trace begins, and marks; see FORMAT.md */
	uint64_t first_time, last_time; /* of the first and the last stamp */
	uint64_t first_count,
		last_count; /* of instructions, if they are recorded: of the first and last call */

	/* From here on only when it is decoded; NULL and 0 where not wanted, see mst_reader_want(). */
	const uint16_t *records; /* index into tokens[], one a record */
	uint32_t n_stamps, n_runs;
	uint32_t n_freed; /* entries of freed[], 0 when identity wasn't recorded */
	uint32_t n_addresses;
	const struct mst_stamp *stamps; /* the first is at record 0 */
	const struct mst_run *runs;     /* the first is at record 0 */
	const uint64_t *freed;          /* allocation index of each FREE, OUT and KEEP record in
					 * turn; UINT64_MAX = unknown block, or one that was freed before */
	const uint64_t *instructions;   /* executed by the process up to the call that the record belongs to,
					 * one a record, never less than before; NULL: not recorded */
	const uint64_t *addresses;      /* of each record whose token is `paged`, in turn */
	const uint8_t *sp_changes;      /* for mst_sp_next() */
	size_t sp_changes_size;         /* bytes; 0: there are none */
	uint64_t sp_changes_from;       /* instructions as of the last step or call before the chunk */
};

/*
 * Opens a trace for reading from the present position of `fd` (a file or a pipe), which stays the
 * caller's. On error *reader is NULL. Names, which are behind the records, are read beforehand; for that
 * a trace with names that comes through a pipe is first copied to a file without a name in /tmp.
 */
int mst_reader_create(struct mst_reader **reader, int fd);
void mst_reader_destroy(struct mst_reader *reader); /* NULL is allowed */

/*
 * The next chunk: 1 and *chunk, 0 at a proper end, or an error. After MST_ERR_DAMAGED or
 * MST_ERR_TRUNCATED everything delivered before is sound, and the reader stays at that end.
 */
int mst_reader_next(struct mst_reader *reader, const struct mst_chunk **chunk);

/*
 * The same in two steps, for those who can do with the sums of most chunks: skim gives a chunk that isn't
 * decoded; decode the rest of it: 0, or an error that puts the reader at that end, and the chunk should not have
 * been delivered. What isn't decoded is sound as far as checksums go; whether its sums are true is the
 * writer's affair.
 */
int mst_reader_peek(struct mst_reader *reader, const struct mst_chunk **chunk);
int mst_reader_decode(struct mst_reader *reader);

/*
 * Which parts chunks shall have when they are decoded: enum mst_column. Without this, all. Identity takes
 * memory, up to 96 bytes for each live block; of blocks that came in chunks for which it wasn't wanted, or
 * before a key frame, it is unknown.
 */
void mst_reader_want(struct mst_reader *reader, unsigned columns);

/*
 * Before the first chunk: lets so many threads, the caller's among them, decode chunks ahead. What is delivered,
 * and when it ends, does not depend on their number. 0 or MST_ERR_NOMEM.
 */
int mst_reader_parallel(struct mst_reader *reader, unsigned threads);

/*
 * Before the first chunk: who knows, better than the past does, whether a chunk will have to be decoded.
 * Asked by mst_reader_peek() when it has read a chunk that others come before, of which `before` are the
 * sums. The chunk is as it gives it, without the tokens, and nothing of it has been checked. 1: it will, 0:
 * it won't, -1: nobody knows. Wrong answers cost time and nothing else.
 */
typedef int mst_foresight(void *context, const struct mst_chunk *chunk, const struct mst_sums *before);
void mst_reader_foresee(struct mst_reader *reader, mst_foresight *foresight, void *context);

/* What the records before a place in the trace come to. */
struct mst_keyframe {
	uint64_t records, allocs; /* before it */
	uint64_t time;            /* of the last stamp before it, in units of 2^time_shift ns */
	uint64_t instructions;    /* of the last call before it; 0 where they were not recorded */
	struct mst_sums sums;     /* of all chunks before it, as if they were one */
	uint32_t n;               /* kinds of which there have been blocks */
	const struct mst_live {
		uint32_t kind;
		int64_t blocks; /* below 0 where the trace frees more than came */
	} * live;               /* ascending; valid until mst_reader_destroy() */
};

/*
 * Before the first chunk: goes to the last key frame for which `will_do` is true, as it must be for all before it (there
 * keyframe->live is NULL). What follows is the chunk behind it; definitions before it are there. 1 and
 * *keyframe; 0: there is none, or the input is no file with an index, and nothing has changed; or an error.
 * What is passed over is not looked at.
 */
int mst_reader_seek(struct mst_reader *reader, bool (*will_do)(const struct mst_keyframe *, void *),
		    void *context, struct mst_keyframe *keyframe);

/* Definitions met so far; those of a chunk are complete when it has been delivered. The pointers
 * are valid until the next mst_reader_next(). */
const struct mst_file_info *mst_reader_info(const struct mst_reader *reader);
unsigned mst_reader_time_shift(const struct mst_reader *reader);
const struct mst_kind *mst_reader_kinds(const struct mst_reader *reader, uint32_t *n);
const struct mst_stack *mst_reader_stacks(const struct mst_reader *reader, uint32_t *n);
const struct mst_frame *mst_reader_frames(const struct mst_reader *reader, uint32_t *n);
const struct mst_module *mst_reader_modules(const struct mst_reader *reader, uint32_t *n);
const struct mst_thread *mst_reader_threads(const struct mst_reader *reader, uint32_t *n);

/* Instructions executed at the last call of the chunks so far; 0 where they were not recorded. */
uint64_t mst_reader_instructions(const struct mst_reader *reader);

/*
 * How many calls are known to be behind a frame (0: the trace has no names of it), and call `i` of
 * them, innermost first. The texts live until mst_reader_destroy().
 */
uint32_t mst_reader_names(const struct mst_reader *reader, uint32_t frame);
struct mst_name mst_reader_name(const struct mst_reader *reader, uint32_t frame, uint32_t i);

/* The END unit; NULL before the proper end. */
const struct mst_end *mst_reader_end(const struct mst_reader *reader);

/* The same for who reads no further: what the last unit of the file says. False: it is no file that ends with END. */
bool mst_reader_peek_end(struct mst_reader *reader, struct mst_end *end);

/* Bytes from where reading began up to the end of the last unit that was read and is sound. */
uint64_t mst_reader_sound_bytes(const struct mst_reader *reader);

/* What was wrong, for people: "at byte 4711: checksum of column 2 differs". "" if nothing. */
const char *mst_reader_problem(const struct mst_reader *reader);

/* ---- From one trace to another --------------------------------------------------------------- */

/*
 * Defines in a writer what a reader has defined, each thing when it is asked for: the ids are those of the
 * reader on the one side and of the writer on the other. With `strip_paths` modules are known by the last
 * part of their path, and source files have no directories. Kinds are the caller's business. Reader and writer
 * stay the caller's, and must be there as long as the transfer. Each function returns 0 or a negative
 * enum mst_error: that of the writer, or MST_ERR_ARGUMENT for an id that the reader doesn't have.
 */
struct mst_remap;

int mst_remap_create(struct mst_remap **remap, const struct mst_reader *from, struct mst_writer *to,
		     bool strip_paths);
void mst_remap_destroy(struct mst_remap *remap); /* NULL is allowed */

/* The same from a writer, of which only frames and stacks can be asked for. */
int mst_remap_between(struct mst_remap **remap, const struct mst_writer *from, struct mst_writer *to);

/* *id is what the thread, frame or stack is in the writer, defined there if it hasn't been. */
int mst_remap_thread(struct mst_remap *remap, uint32_t thread, uint32_t *id);
int mst_remap_frame(struct mst_remap *remap, uint32_t frame, uint32_t *id);
int mst_remap_stack(struct mst_remap *remap, uint32_t stack, uint32_t *id);

/* The names that the reader's trace has of those frames; behind the last record. */
int mst_remap_names(struct mst_remap *remap);

/* Which modules are gone at the end. */
int mst_remap_unloaded(struct mst_remap *remap);

/* ---- Event by event ------------------------------------------------------------------------- */

enum mst_event_type {
	MST_EVENT_ALLOC,  /* a block of `kind` came */
	MST_EVENT_FREE,   /* a block of `old_kind` went; `kind` = the call that did it, or MST_NONE */
	MST_EVENT_RESIZE, /* a block of `old_kind` became one of `kind` */
	MST_EVENT_CALL,   /* nothing changed: failed call or mark of `kind`; `old_kind` = the block
			    * that a failed realloc was given, or MST_NONE */
};

struct mst_event {
	enum mst_event_type type;
	uint32_t kind, old_kind;
	uint32_t thread;
	uint64_t time;         /* units of 2^time_shift ns since time 0 */
	uint64_t index;        /* of the block that came; UINT64_MAX if none */
	uint64_t old_index;    /* of the block that went or stayed; UINT64_MAX if unknown */
	uint64_t instructions; /* executed by then; 0 where they were not recorded */
	uint64_t address;      /* of the pages that a mark is about, else 0 */
};

/* Walks the calls of one chunk. Plain data: start with MST_CURSOR(chunk). */
struct mst_cursor {
	const struct mst_chunk *chunk;
	uint32_t record, stamp, run, freed, addresses;
	uint64_t alloc;
};

#define MST_CURSOR(c) ((struct mst_cursor){ .chunk = (c), .alloc = (c)->first_alloc })

/* The next call of the chunk; false at its end. */
bool mst_cursor_next(struct mst_cursor *cursor, struct mst_event *event);

/* ---- Step by step --------------------------------------------------------------------------- */

/* A change of the stack pointer. */
struct mst_sp_change {
	uint32_t record;       /* of the chunk: the step came before it, and after the call before it */
	uint64_t instructions; /* executed by then */
	uint64_t grown;        /* bytes, never 0; below 0 as a signed number: the stack shrank */
};

/* Walks the steps of one chunk. Plain data: start with MST_SP_CURSOR(chunk). */
struct mst_sp_cursor {
	const struct mst_chunk *chunk;
	size_t at;
	uint32_t record;
	uint64_t instructions;
};

#define MST_SP_CURSOR(c) ((struct mst_sp_cursor){ .chunk = (c), .instructions = (c)->sp_changes_from })

/* The next step of the chunk; false at its end. */
bool mst_sp_next(struct mst_sp_cursor *cursor, struct mst_sp_change *step);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
