/* SPDX-License-Identifier: MIT */
/*
 * libmstrace reads and writes heap traces. This header reads; mst_writer.h writes; mst_names.h of
 * libmstrace-names finds functions and source lines. FORMAT.md is the specification of the bytes,
 * libmstrace(3) the manual page.
 *
 * Six calls read a trace:
 *
 *   mst_reader_create()   opens it
 *   mst_reader_next()     gives the next chunk of records
 *   mst_cursor_next()     gives the next event of a chunk
 *   mst_reader_kinds()    gives the kinds that events name; mst_reader_stacks(), _frames() and _modules() the rest
 *   mst_reader_problem()  says why reading stopped before the end
 *   mst_reader_destroy()  closes the reader
 *
 * docs/examples/heap_peak.c, whole:
 *
 *   #include <fcntl.h>
 *   #include <inttypes.h>
 *   #include <mstrace.h>
 *   #include <stdio.h>
 *
 *   int main(int argc, char **argv)
 *   {
 *   	struct mst_reader *reader;
 *   	const struct mst_chunk *chunk;
 *   	uint64_t live = 0, peak = 0;
 *   	int got = mst_reader_create(&reader, open(argc > 1 ? argv[1] : "trace.zst", O_RDONLY));
 *
 *   	if (got < 0)
 *   		return fprintf(stderr, "%s\n", mst_strerror(got)), 2;
 *   	while ((got = mst_reader_next(reader, &chunk)) == 1) {
 *   		struct mst_cursor cursor = MST_CURSOR(chunk);
 *   		struct mst_event event;
 *   		uint32_t n;
 *   		const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
 *
 *   		while (mst_cursor_next(&cursor, &event)) {
 *   			if (event.type == MST_EVENT_FREE || event.type == MST_EVENT_RESIZE)
 *   				live -= kinds[event.old_kind].size;
 *   			if (event.type == MST_EVENT_ALLOC || event.type == MST_EVENT_RESIZE)
 *   				live += kinds[event.kind].size;
 *   			if (live > peak)
 *   				peak = live;
 *   		}
 *   	}
 *   	printf("peak %" PRIu64 " bytes, at the end %" PRIu64 " bytes\n", peak, live);
 *   	if (got < 0)
 *   		fprintf(stderr, "%s: %s\n", mst_strerror(got), mst_reader_problem(reader));
 *   	mst_reader_destroy(reader);
 *   	return got < 0;
 *   }
 *
 * Words:
 *
 *   trace     what a program asked of its allocator, in one total order, the order of the file
 *   event     one call that allocated, freed or resized a block or failed to, or one marker
 *   marker    an event that is no call of the allocator: start, exit, fork, lost events, mappings, stack depth
 *   kind      one distinct (operation, stack, size, alignment, ...); events name kinds, never addresses
 *   stack     a node of a tree that grows from the outermost frame inwards: a parent stack and a frame
 *   frame     a place in the code: a module and a link-time address in it
 *   module    an ELF file that was mapped, or something like it ("[vdso]")
 *   record    what a chunk stores of an event: one, or two if the event is about two kinds
 *   token     what a record is within its chunk: a kind and a role (gives a block, takes one, ...)
 *   chunk     up to 2^20 records that are stored together, with their sums
 *   mark      a point between two events that the program, or msrec, gave a name
 *   index     of a block: the number of its allocation, from 0, in the whole trace
 *   ordinal   of a block: the number of its allocation among those of its kind, from 0
 *   key frame what all records before a place of the file come to; reading can begin there
 *   initial state  the blocks, mappings and stack depths at the beginning of a trace that begins while its
 *             program runs
 *
 * Kinds, stacks, frames, modules and threads have dense ids from 0. A definition stands before its first use.
 * A stack's parent has a lower id than the stack.
 *
 * Units: bytes for sizes; nanoseconds where a name ends in _ns; other times count units of 2^time_shift ns
 * (see mst_reader_time_shift()). Time 0 is the start of the program.
 *
 * Threads: one thread at a time may use an object. Different objects are independent.
 *
 * Errors: functions return 0 or a count on success, else a negative enum mst_error.
 *
 * Memory: what a function hands out belongs to the object, and is valid until the call that its description
 * names.
 *
 * Trust: a trace is hostile input. The reader checks each length against the bytes that are left and against
 * mst_limits.h before it reads or allocates.
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

/* ---- errors ---- */

enum mst_error {
	MST_ERR_IO = -1, /* errno has the reason */
	MST_ERR_NOMEM = -2,
	MST_ERR_NOT_A_TRACE = -3, /* the file doesn't begin with a FILE unit */
	MST_ERR_VERSION = -4,     /* a version or an incompatible feature that this reader lacks */
	MST_ERR_DAMAGED = -5,     /* a check failed; mst_reader_problem() says which one and where */
	MST_ERR_TRUNCATED = -6,   /* the file ends inside a unit or without an END unit */
	MST_ERR_LIMIT = -7,       /* more than mst_limits.h allows */
	MST_ERR_ARGUMENT = -8,    /* an id that was never defined */
	MST_ERR_IDENTITY = -9,    /* which block a record is about is wanted, and wasn't recorded */
	MST_ERR_EMPTY = -10,      /* a file of no bytes: its writer was stopped before the first one */
};

/* A constant one-line description of an enum mst_error. */
const char *mst_strerror(int error);

/* ---- definitions ---- */

#define MST_NONE UINT32_MAX /* no kind, no module */
#define MST_ROOT_STACK 0u   /* the empty stack */
#define MST_UNKNOWN_KIND 0u /* kind 0 is always MST_OP_UNKNOWN with no stack and no size */

enum mst_kind_flag {
	MST_KIND_OVERFLOW = 1, /* the product of calloc's or reallocarray's arguments overflowed */
	/*
	 * The memalign family or aligned operator new gave the block, or a realloc of such a block or of one
	 * whose allocation is unknown. memusage doesn't see these calls.
	 */
	MST_KIND_ALIGNED = 2,
	MST_KIND_USABLE = 4,    /* `usable` is known */
	MST_KIND_FAILED = 8,    /* the call of a marker (mmap and its like) failed */
	MST_KIND_ANY_FREE = 16, /* of a free: which function made it is not known */
	MST_KIND_INVALID = 32,  /* of a call that gave nothing: the alignment was refused (EINVAL) */
};

struct mst_kind {
	uint8_t op;         /* enum mst_op */
	uint8_t flags;      /* enum mst_kind_flag */
	uint8_t align_log2; /* requested alignment, 0 = none requested */
	uint32_t stack;
	uint64_t size; /* bytes requested; of a free, what the program said that the block had, 0: nothing */
	/*
	 * The largest size requested along the chain of reallocs that led to this block, itself included: cap
	 * >= size. Massif leaves a block in place when it shrinks, so the block takes cap rounded up.
	 */
	uint64_t cap;
	uint64_t usable; /* with MST_KIND_USABLE: bytes that the allocator gave, at least size; else 0 */
};

/*
 * Whether a free (mst_op_is_free(call->op)) is the one that blocks of a kind are meant for: free() for malloc's, delete
 * for new's, delete[] for new[]'s, with their size and alignment where it is given them. True also where that is not
 * known: the block or the function is unknown, or the block is a custom one.
 */
bool mst_kind_is_freed_by(const struct mst_kind *block, const struct mst_kind *call);

struct mst_stack {
	uint32_t parent; /* the stack of the next outer frame; MST_ROOT_STACK at the outermost */
	uint32_t frame;
};

/* The address is that of the call: the return address minus one. */
struct mst_frame {
	uint32_t module;  /* MST_NONE: code in no known object */
	uint64_t address; /* link-time address in the module; without a module the run-time address */
};

/*
 * A frame in no module at MST_CUT_ADDRESS + n is no code. It stands for the callers of stacks of which only the n innermost
 * frames were recorded.
 */
#define MST_CUT_ADDRESS UINT64_C(0xffffffffffff0000)

/* A frame in no module at this address is no code either. It is the only one of stacks from before the recording. */
#define MST_EARLIER_ADDRESS UINT64_C(0xffffffffffffffff)

static inline bool mst_frame_is_earlier(const struct mst_frame *frame)
{
	return frame->module == MST_NONE && frame->address == MST_EARLIER_ADDRESS;
}

/* The number of frames at which the stacks with this outermost frame were cut; 0: the frame is code. */
static inline uint32_t mst_frame_cut(const struct mst_frame *frame)
{
	return frame->module == MST_NONE && frame->address > MST_CUT_ADDRESS && !mst_frame_is_earlier(frame)
		       ? (uint32_t)(frame->address - MST_CUT_ADDRESS)
		       : 0;
}

/*
 * A frame in no module at an address from MST_SCRIPT_ADDRESS on, below twice that, is a line of a script: the address has the
 * number of a function and the line (mst_script_address()). mst_reader_name() has both as text.
 */
#define MST_SCRIPT_ADDRESS (UINT64_C(1) << 62)
#define MST_SCRIPT_LINE_BITS 24

static inline bool mst_frame_is_script(const struct mst_frame *frame)
{
	return frame->module == MST_NONE && frame->address >> 62 == MST_SCRIPT_ADDRESS >> 62;
}

/* Lines from 2^MST_SCRIPT_LINE_BITS on are 0: not known. */
static inline uint64_t mst_script_address(uint32_t function, uint32_t line)
{
	return MST_SCRIPT_ADDRESS | (uint64_t)function << MST_SCRIPT_LINE_BITS |
	       (line >> MST_SCRIPT_LINE_BITS ? 0 : line);
}

/* Of a frame that mst_frame_is_script(). */
static inline uint64_t mst_script_function(const struct mst_frame *frame)
{
	return (frame->address - MST_SCRIPT_ADDRESS) >> MST_SCRIPT_LINE_BITS;
}

static inline uint32_t mst_script_line(const struct mst_frame *frame)
{
	return (uint32_t)(frame->address & ((1u << MST_SCRIPT_LINE_BITS) - 1));
}

/* A function of a script, and the file that it is in. */
struct mst_script {
	const char *file, *function; /* "": not known */
};

enum mst_module_role {
	MST_MODULE_LIBRARY = 0,
	MST_MODULE_EXECUTABLE = 1,
	MST_MODULE_INTERPRETER = 2,
	MST_MODULE_VDSO = 3,
	MST_MODULE_UNLOADED = 4, /* no module: module number `order` is gone when the trace ends */
};

#define MST_BUILD_ID_MAX 64

struct mst_module {
	const char *path;      /* absolute path, or a name in brackets such as "[vdso]" */
	uint8_t role;          /* enum mst_module_role */
	uint8_t build_id_size; /* bytes; 0 = it has none */
	uint8_t build_id[MST_BUILD_ID_MAX];
	uint32_t order;      /* position in load order */
	uint64_t start, end; /* run-time addresses */
	uint64_t bias;       /* run-time address minus link-time address */
};

struct mst_thread {
	uint32_t tid; /* the kernel's thread id */
	/*
	 * Its last name that was read; NULL: not known. Names of a chunk's calls have been read with the chunk,
	 * later ones may have been, too. mst_writer_thread() ignores it.
	 */
	const char *name;
};

/* A thread gets a name: at its beginning, and whenever it changes. */
struct mst_thread_name {
	uint32_t thread;
	uint64_t time; /* units of 2^time_shift ns since time 0; at or before the first call with this name */
	const char *name; /* up to MST_MAX_THREAD_NAME bytes, as the system had it: not always UTF-8 */
};

/* A point between two events that has a name: the program or msrec set it. Several may have the same name. */
struct mst_mark {
	uint64_t
		record; /* the mark is behind the calls with records before this number, and before all others */
	uint64_t time;    /* units of 2^time_shift ns since time 0 */
	uint32_t thread;  /* that set it; MST_NONE: it was set from outside of the program */
	const char *name; /* up to MST_MAX_MARK bytes, as the program had it: not always UTF-8 */
};

/*
 * A thread has ended: it makes no more calls, and its storage is gone. One without an end may have lived to the end of the
 * trace. Place and time are early by up to one look of msrec, 20 ms as a rule.
 */
struct mst_thread_end {
	uint64_t record; /* the end is behind the calls with records before this number */
	uint64_t time;   /* units of 2^time_shift ns since time 0 */
	uint32_t thread;
};

/* One of the calls that a frame stands for. Texts are NULL where they are unknown. */
struct mst_name {
	/*
	 * Of the last call: as in the symbol table, not demangled. Of others: an inlined function's plain
	 * name.
	 */
	const char *function;
	const char *directory;
	const char *file; /* as in the line table: a base name as a rule */
	uint32_t line;    /* 0: unknown, or code of no one line */
	const char *full; /* an inlined function's readable name, with namespaces and arguments */
};

/* ---- beginning and end of a trace ---- */

struct mst_file_info {
	uint32_t pid;
	uint32_t parent_pid; /* of the process that this one forked from; 0 if it was started */
	uint16_t machine;    /* ELF e_machine of the recorded program */
	uint32_t page_size;
	uint64_t start_ns; /* CLOCK_REALTIME at time 0; 0: unknown */
	uint64_t
		sample_bytes; /* mean distance of sample points, see FORMAT.md; 0: the trace has all blocks */
	bool instructions;    /* each event has a count of executed instructions */
	bool stacks;          /* markers or SP changes give the depth of stacks, if it is ever above 0 */
	bool pages;           /* calls that map and unmap pages are in the trace */
	bool exact; /* the program ran under Valgrind: addresses, sizes and counts are those of Massif */
	bool free_functions; /* which functions freed blocks is recorded: a free without a call is the right one's */
	bool temporary;       /* chunks count temporary blocks; set by the reader */
	bool initial_state;   /* the trace begins with an initial state */
	uint64_t begin_ns;    /* of the initial state, since time 0; 0 without one */
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
	MST_END_UNKNOWN = 4,  /* the exit status could not be read; or the reason of a later revision */
};

struct mst_end {
	uint8_t reason; /* enum mst_end_reason */
	uint32_t detail;
	uint64_t time_ns;       /* since time 0 */
	uint64_t events;        /* calls in the trace, free(NULL) included */
	uint64_t lost;          /* events that could not be kept */
	uint64_t unknown_frees; /* frees of blocks whose allocation is unknown */
	uint64_t implied_frees; /* blocks whose free is unknown */
};

/* ---- chunks ---- */

/* What a record does to the blocks of its kind. */
enum mst_role {
	MST_ALLOC = 0, /* one more */
	MST_FREE = 1,  /* one less */
	MST_OUT = 2,   /* one less, by the call of the next record */
	MST_CALL = 3,  /* none: a failed call, a marker, or the call of the OUT or KEEP before it */
	MST_KEEP = 4,  /* none: the block that a failed realloc, the next record, left alone */
};

struct mst_token {
	uint32_t kind;
	uint16_t role;  /* enum mst_role */
	uint16_t paged; /* 1: each of its records has an entry in addresses[], else 0 */
	uint32_t count; /* records of the chunk with this token */
};

/*
 * What a chunk comes to, without its records. Bytes are those requested; "16" means cap rounded up to 16.
 * max_* are the largest running values inside the chunk, from 0 at its start and never below 0, taken between
 * events: a realloc is one change.
 */
struct mst_sums {
	uint64_t events; /* calls, without free(NULL) */
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
	uint64_t time;   /* ... the time is this */
};

struct mst_run {
	uint32_t record; /* from this record of the chunk on ... */
	uint32_t thread; /* ... this thread made the records */
};

/* Parts of a chunk that a reader can do without. */
enum mst_column {
	MST_TIMES = 1,
	MST_THREADS = 2,
	MST_IDENTITY = 4, /* decoded in mst_reader_peek(), because each chunk needs those before it */
	MST_INSTRUCTIONS = 8,
	MST_ADDRESSES = 16,
	MST_SP_CHANGES = 32, /* decoded in mst_reader_peek(), for the same reason */
	MST_AGES = 64,       /* of what MST_IDENTITY is found by: cheap, and no chunk needs those before it */
	MST_ALL_COLUMNS = 127,
};

/*
 * One chunk of records. Valid until the next mst_reader_next() or mst_reader_peek(). A reader has checked, whatever the file
 * says: first_time <= last_time, first_count <= last_count; records[i] < n_tokens; stamps[] and runs[] lie within the chunk;
 * n_freed, n_ages and n_addresses are the numbers of records that have such an entry, or 0.
 */
struct mst_chunk {
	uint64_t first_record; /* number of its first record in the file */
	uint64_t first_alloc;  /* index of its first allocation */
	uint32_t n_records;
	uint32_t n_tokens;
	const struct mst_token *tokens;
	struct mst_sums sums;
	bool initial; /* part of the initial state: no calls, only ALLOCs of live blocks, and markers */
	uint64_t first_time, last_time;   /* of the first and the last stamp */
	uint64_t first_count, last_count; /* instructions at the first and last call, if they are recorded */
	/*
	 * Blocks that were freed before the thread that allocated them allocated again, each by a call of its own; 0 if the
	 * file's info lacks `temporary`.
	 */
	uint64_t temporary;

	/*
	 * The members from here on exist only in a decoded chunk. Those that mst_reader_want() excludes are
	 * NULL and 0. freed[] is in the order of its records, and so is addresses[].
	 */
	const uint16_t *records; /* index into tokens[], one a record */
	uint32_t n_stamps, n_runs;
	uint32_t n_freed; /* entries of freed[]; 0 when identity wasn't recorded */
	uint32_t n_addresses;
	const struct mst_stamp *stamps; /* ascending; the first is at record 0 */
	const struct mst_run *runs;     /* ascending; the first is at record 0 */
	/* Index of the block of each FREE, OUT and KEEP record; UINT64_MAX: unknown, or freed before. */
	const uint64_t *freed;
	/* Instructions that the process had executed at each record's call, ascending; NULL: not recorded. */
	const uint64_t *instructions;
	const uint64_t *addresses; /* of each record whose token is `paged` */
	const uint8_t *sp_changes; /* for mst_sp_next() */
	size_t sp_changes_size;    /* bytes; 0: there are none */
	uint64_t sp_changes_from;  /* instructions at the last SP change or call before the chunk */
	/*
	 * Age of the block of each FREE, OUT and KEEP record: 1 is the newest of its kind, 2 the one that came before that;
	 * 0: unknown. NULL and 0 when identity wasn't recorded.
	 */
	uint32_t n_ages;
	const uint64_t *ages;
};

/* ---- reading ---- */

struct mst_reader;

/*
 * Opens a trace at the present position of `fd`, a file or a pipe. `fd` stays the caller's and must stay
 * open. On error *reader is NULL. Names stand behind the records and are read here: a trace with names that
 * comes through a pipe is first copied to a file without a name in /tmp.
 */
int mst_reader_create(struct mst_reader **reader, int fd);

/*
 * The same, and on error stores the text that mst_reader_problem() would return, cut to `size` bytes with its NUL: the
 * version or the incompatible features that this library lacks. "" if there is no more to say than mst_strerror().
 */
int mst_reader_open(struct mst_reader **reader, int fd, char *problem, size_t size);
/*
 * The same for a trace that may still grow, a file or a pipe. `more` is called where `fd` has no more bytes at present:
 * at the end of the file, or with EAGAIN. True: the reader reads again, so `more` waits a while before; false: the
 * input ends there. All chunks before that place have been delivered then. `more` may ask for definitions and samples
 * of the reader, once it is opened. `fd` must stay as it is otherwise. Names of a pipe are known once they were read.
 */
int mst_reader_follow(struct mst_reader **reader, int fd, bool (*more)(void *context), void *context,
		      char *problem, size_t size);
void mst_reader_destroy(struct mst_reader *reader); /* NULL is allowed */

/*
 * The next chunk, decoded: 1 and *chunk, 0 at the proper end, or an error. Errors and the end are final: each
 * further call returns the same. The chunks before an error are sound.
 */
int mst_reader_next(struct mst_reader *reader, const struct mst_chunk **chunk);

/* What was wrong, as text for people: "at byte 4711: checksum of column 2 differs". "" without an error. */
const char *mst_reader_problem(const struct mst_reader *reader);

/*
 * Definitions up to the chunk delivered last, by id; *n is their number. The pointers are valid until the
 * next mst_reader_next() or mst_reader_peek(), that of mst_reader_info() until mst_reader_destroy().
 */
const struct mst_file_info *mst_reader_info(const struct mst_reader *reader);
unsigned mst_reader_time_shift(const struct mst_reader *reader);
const struct mst_kind *mst_reader_kinds(const struct mst_reader *reader, uint32_t *n);
const struct mst_stack *mst_reader_stacks(const struct mst_reader *reader, uint32_t *n);
const struct mst_frame *mst_reader_frames(const struct mst_reader *reader, uint32_t *n);
const struct mst_module *mst_reader_modules(const struct mst_reader *reader, uint32_t *n);
const struct mst_thread *mst_reader_threads(const struct mst_reader *reader, uint32_t *n);

/*
 * The names that threads got so far, those of each thread in the order of time; *n = 0: none are known. Valid until
 * the next mst_reader_next() or mst_reader_peek(), the texts until mst_reader_destroy().
 */
const struct mst_thread_name *mst_reader_thread_names(const struct mst_reader *reader, uint32_t *n);

/*
 * The marks so far, in the order of record and time: those before the end of the chunk delivered last, and maybe
 * later ones. Valid until the next mst_reader_next() or mst_reader_peek(), the texts until mst_reader_destroy().
 */
const struct mst_mark *mst_reader_marks(const struct mst_reader *reader, uint32_t *n);

/*
 * The ends of threads so far, in the order of record and time: those before the end of the chunk delivered last, and
 * maybe later ones. *n = 0: none has ended, or ends were not recorded. Valid until the next mst_reader_next() or
 * mst_reader_peek().
 */
const struct mst_thread_end *mst_reader_thread_ends(const struct mst_reader *reader, uint32_t *n);

/* The END unit; NULL before the proper end. */
const struct mst_end *mst_reader_end(const struct mst_reader *reader);

/*
 * Names that the trace itself has of a frame: the number of calls that the frame stands for, 0 without names;
 * and call `i` of them, from the innermost. The texts are valid until mst_reader_destroy().
 */
uint32_t mst_reader_names(const struct mst_reader *reader, uint32_t frame);
struct mst_name mst_reader_name(const struct mst_reader *reader, uint32_t frame, uint32_t i);

/* ---- the process's memory ---- */

/*
 * How much memory the process had, as the kernel counts it, seen from outside by the recorder: resident ten times a
 * second, the rest once a second. UINT64_MAX: not known.
 */
struct mst_memory_sample {
	uint64_t time;                       /* units of 2^time_shift ns since time 0 */
	uint64_t resident;                   /* bytes in RAM, shared ones included (RSS) */
	bool detailed;                       /* what follows was looked at, too; else 0 or UINT64_MAX */
	uint64_t proportional, swapped;      /* bytes: of each page its share (PSS); in swap */
	uint64_t minor_faults, major_faults; /* page faults since the process began */
};

/*
 * The samples so far, ascending in time; *n = 0: none were taken. A sample may be read later or, while chunks
 * wait, earlier than events of its time; at the end of the trace all are there. Valid until the next
 * mst_reader_next() or mst_reader_peek().
 */
const struct mst_memory_sample *mst_reader_memory(const struct mst_reader *reader, uint32_t *n);

/*
 * The most bytes that were resident at one time, as the kernel itself noted it (VmHWM): at the end of the trace the
 * whole program's, and often above all samples. 0: not known.
 */
uint64_t mst_reader_peak_resident(const struct mst_reader *reader);

/* ---- events of a chunk ---- */

enum mst_event_type {
	MST_EVENT_ALLOC, /* a block of `kind` came */
	/*
	 * A block of `old_kind` went; `kind` = the call that freed it, or MST_NONE: its stack is not recorded, and the
	 * function is the right one, if the trace records functions.
	 */
	MST_EVENT_FREE,
	MST_EVENT_RESIZE, /* a block of `old_kind` became one of `kind` */
	/*
	 * No block changed: a failed call or a marker of `kind`; `old_kind` = what a failed realloc kept, or
	 * MST_NONE.
	 */
	MST_EVENT_CALL,
};

struct mst_event {
	enum mst_event_type type;
	uint32_t kind, old_kind;
	uint32_t thread;
	uint64_t time;         /* units of 2^time_shift ns since time 0 */
	uint64_t index;        /* of the block that came; UINT64_MAX if none */
	uint64_t old_index;    /* of the block that went or stayed; UINT64_MAX if unknown */
	uint64_t instructions; /* executed so far; 0 where they were not recorded */
	uint64_t address;      /* of the pages of a marker, else 0 */
};

/* Walks the events of one decoded chunk. Plain data; MST_CURSOR(chunk) is its first value. */
struct mst_cursor {
	const struct mst_chunk *chunk;
	uint32_t record, stamp, run, freed, addresses;
	uint64_t alloc;
};

#define MST_CURSOR(c) ((struct mst_cursor){ .chunk = (c), .alloc = (c)->first_alloc })

/* The next event; false at the end of the chunk. */
bool mst_cursor_next(struct mst_cursor *cursor, struct mst_event *event);

/* A change of the stack pointer. */
struct mst_sp_change {
	uint32_t record;       /* of the chunk: the change came after the call before this record */
	uint64_t instructions; /* executed so far */
	uint64_t grown;        /* bytes, never 0; modulo 2^64, so a large value means that the stack shrank */
};

/* Walks the SP changes of one chunk. Plain data; MST_SP_CURSOR(chunk) is its first value. */
struct mst_sp_cursor {
	const struct mst_chunk *chunk;
	size_t at;
	uint32_t record;
	uint64_t instructions;
};

#define MST_SP_CURSOR(c) ((struct mst_sp_cursor){ .chunk = (c), .instructions = (c)->sp_changes_from })

/* The next SP change; false at the end of the chunk. */
bool mst_sp_next(struct mst_sp_cursor *cursor, struct mst_sp_change *change);

/* ---- reading in depth ---- */

/*
 * mst_reader_next() in two parts, for readers to which the sums of most chunks suffice. mst_reader_peek()
 * gives the next chunk undecoded, with the same result. mst_reader_decode() decodes it: 0, or an error, which
 * is final; the chunk is not to be used then. The checksums of an undecoded chunk have been checked, its sums
 * have not.
 */
int mst_reader_peek(struct mst_reader *reader, const struct mst_chunk **chunk);
int mst_reader_decode(struct mst_reader *reader);

/*
 * Selects the parts that decoded chunks have: enum mst_column, all by default. Identity takes up to 96 bytes
 * of memory for each live block. A block is unknown if its chunk was delivered without identity or precedes
 * the key frame at which reading began.
 */
void mst_reader_want(struct mst_reader *reader, unsigned columns);

/*
 * Selects parts that decoded chunks have, too, from the first chunk on before which the trace defines a second thread:
 * mst_reader_threads() gives more than one with it. All chunks before are the first thread's. None by default.
 */
void mst_reader_want_by_threads(struct mst_reader *reader, unsigned columns);

/*
 * Before the first chunk: `threads`, the caller's among them, decode chunks ahead. Chunks and errors are the
 * same for any number. 0 or MST_ERR_NOMEM.
 */
int mst_reader_parallel(struct mst_reader *reader, unsigned threads);

/* What the records before a place in the trace come to. */
struct mst_live {
	uint32_t kind;
	int64_t blocks; /* below 0 where the trace frees more than came */
};
struct mst_keyframe {
	uint64_t records, allocs;    /* before it */
	uint64_t time;               /* of the last stamp before it */
	uint64_t instructions;       /* at the last call before it; 0 where they were not recorded */
	struct mst_sums sums;        /* of all chunks before it, as of one chunk */
	uint32_t n;                  /* kinds that have had blocks */
	const struct mst_live *live; /* of those kinds, ascending; valid until mst_reader_destroy() */
};

/*
 * Before the first chunk: goes to the last key frame for which `will_do` is true. `will_do` must be true for
 * all key frames before that one; it gets keyframe->live as NULL. The next chunk is the one behind the key
 * frame. All definitions before it are known; nothing else before it is read or checked. 1 and *keyframe; 0
 * if there is no such key frame, no index or no seekable file, and the position is unchanged; or an error.
 */
int mst_reader_seek(struct mst_reader *reader, bool (*will_do)(const struct mst_keyframe *, void *),
		    void *context, struct mst_keyframe *keyframe);

/* Instructions executed at the last call of the chunks so far; 0 where they were not recorded. */
uint64_t mst_reader_instructions(const struct mst_reader *reader);

/* The END unit at any time, from the end of the file. False: the input is no file that ends with END. */
bool mst_reader_peek_end(struct mst_reader *reader, struct mst_end *end);

/* Bytes from the beginning of the trace to the end of the last unit that was read and is sound. */
uint64_t mst_reader_sound_bytes(const struct mst_reader *reader);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
