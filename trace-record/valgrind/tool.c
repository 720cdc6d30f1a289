/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tool for Valgrind that records a program's heap for msrec, with exact counts of instructions. The program runs as under
 * Massif: the same code is translated in the same blocks, and Valgrind's allocator gives the same addresses.
 */
#include "engine.h"

#include <sys/syscall.h>

#include "mst_op.h"
#include "objects.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_options.h"
#include "pub_tool_replacemalloc.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "stacks.h"
#include "unwind.h"

ULong engine_instructions;

static const HChar *shm_path;
static ThreadId current; /* of the last event */
static uint32_t forking; /* number of the fork that is being made */
static Bool begun, exit_emitted;

/* ---- events ---- */

/* Valgrind reuses thread ids, but calls begin_thread() first. */
static void emit_thread(ThreadId tid)
{
	if (tid == current)
		return;
	current = tid;
	if ((uint32_t)VG_(gettid)() != ring.tid)
		ring_emit_thread((uint32_t)VG_(gettid)());
}

void engine_emit(ThreadId tid, struct event *event)
{
	sp_changes_flush();
	emit_thread(tid);
	event->instructions = engine_instructions;
	ring_emit(event);
}

static void emit_mark(ThreadId tid, uint8_t op, uint64_t value)
{
	struct event event = { .op = op, .size = value };

	engine_emit(tid, &event);
}

/* ---- instructions ---- */

/* Before the program's first block runs. */
static void begin_program(ThreadId tid)
{
	begun = True;
	sp_changes_begin();
	emit_mark(tid, MST_OP_START, 0);
}

/* Adds code that adds `n` to the counter. */
static void add_count(IRSB *block, UInt n)
{
	IRExpr *address = mkIRExpr_HWord((HWord)&engine_instructions);
	const IRTemp before = newIRTemp(block->tyenv, Ity_I64), after = newIRTemp(block->tyenv, Ity_I64);

	if (n == 0)
		return;
	addStmtToIRSB(block, IRStmt_WrTmp(before, IRExpr_Load(Iend_LE, Ity_I64, address)));
	addStmtToIRSB(block, IRStmt_WrTmp(after, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(before),
							      IRExpr_Const(IRConst_U64(n)))));
	addStmtToIRSB(block, IRStmt_Store(Iend_LE, address, IRExpr_RdTmp(after)));
}

/* Adds the instructions of a block to the counter at each of its exits. */
static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
			const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
			IRType host_word)
{
	IRSB *out = deepCopyIRSBExceptStmts(in);
	UInt n = 0;

	(void)layout;
	(void)extents;
	(void)host;
	(void)guest_word;
	(void)host_word;
	if (!begun)
		begin_program(closure->tid);
	for (Int i = 0; i < in->stmts_used; i++) {
		IRStmt *statement = in->stmts[i];

		if (!statement || statement->tag == Ist_NoOp)
			continue;
		if (statement->tag == Ist_IMark)
			n++;
		if (statement->tag == Ist_Exit) {
			add_count(out, n);
			n = 0;
		}
		addStmtToIRSB(out, statement);
	}
	add_count(out, n);
	return out;
}

/* ---- what happens to the process ---- */

static void before_fork(ThreadId tid)
{
	if (!ring.on)
		return;
	forking = ring_count_fork();
	emit_mark(tid, MST_OP_FORK, forking);
}

static void in_child(ThreadId tid)
{
	(void)tid;
	ring_follow_fork(forking);
	stacks_forget();
	objects_forget();
	current = VG_INVALID_THREADID;
}

static void begin_thread(ThreadId tid)
{
	if (tid == current)
		current = VG_INVALID_THREADID;
}

/* The exit marker comes before the libraries' clean-up. */
static void before_syscall(ThreadId tid, UInt number, UWord *args, UInt n_args)
{
	(void)args;
	(void)n_args;
	if (number == SYS_execve || number == SYS_execveat)
		ring_note_exec(true);
	if (number != SYS_exit_group || exit_emitted)
		return;
	exit_emitted = True;
	emit_mark(tid, MST_OP_EXIT, 0);
}

static void after_syscall(ThreadId tid, UInt number, UWord *args, UInt n_args, SysRes result)
{
	(void)tid;
	(void)args;
	(void)n_args;
	(void)result;
	/* The system call returns only if it has failed. */
	if (number == SYS_execve || number == SYS_execveat)
		ring_note_exec(false);
}

void engine_unmapped(Addr start, SizeT size)
{
	unwind_forget();
	if (objects_leave(start, size))
		stacks_forget();
}

void engine_mapped(Addr start, SizeT size, ULong debug_info)
{
	if (debug_info)
		engine_unmapped(start, size);
	else
		unwind_forget();
}

static void map(Addr start, SizeT size, Bool r, Bool w, Bool x, ULong debug_info)
{
	(void)r;
	(void)w;
	(void)x;
	engine_mapped(start, size, debug_info);
}

/* Emits at least one record, so that every process has a trace. */
static void finish(Int status)
{
	(void)status;
	sp_changes_flush();
	ring_emit_thread((uint32_t)VG_(gettid)());
}

/* ---- options and life ---- */

/* Massif's own options may come from Valgrind's option files and environment. They matter at replay, not here. */
static Bool is_massifs(const HChar *arg)
{
	static const HChar *const options[] = {
		"--heap=",
		"--heap-admin=",
		"--stacks=",
		"--pages-as-heap=",
		"--depth=",
		"--alloc-fn=",
		"--ignore-fn=",
		"--threshold=",
		"--peak-inaccuracy=",
		"--time-unit=",
		"--detailed-freq=",
		"--max-snapshots=",
		"--massif-out-file=",
	};

	for (UInt i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (VG_(strncmp)(arg, options[i], VG_(strlen)(options[i])) == 0)
			return True;
	}
	return False;
}

static Bool process_option(const HChar *arg)
{
	if (VG_STR_CLO(arg, "--msrec-shm", shm_path))
		return True;
	return is_massifs(arg) || VG_(replacement_malloc_process_cmd_line_option)(arg);
}

static void print_usage(void)
{
	VG_(printf)("    This tool is started by msrec --engine=valgrind.\n");
}

static void print_debug_usage(void)
{
	VG_(printf)("    (none)\n");
}

static void begin(void)
{
	const Bool recorded = shm_path && ring_open(shm_path, VG_(args_the_exename));

	stacks_init(recorded ? ring.family->depth : 1);
	if (!recorded)
		return;
	heap_set_free_stacks(ring.family->free_stacks);
	if (ring.family->stacks)
		sp_changes_init();
	if (ring.family->pages)
		pages_init();
}

static void before_options(void)
{
	VG_(details_name)("msrec");
	VG_(details_version)(NULL);
	VG_(details_description)("a recorder of what programs do with their heap");
	VG_(details_copyright_author)("The authors of msrec; GNU GPL version 2 or later");
	VG_(details_bug_reports_to)("the authors of msrec");
	VG_(details_avg_translation_sizeB)(330);
	VG_(clo_vex_control).iropt_register_updates_default = VG_(clo_px_file_backed) =
		VexRegUpdSpAtMemAccess;
	VG_(basic_tool_funcs)(begin, instrument, finish);
	VG_(needs_libc_freeres)();
	VG_(needs_cxx_freeres)();
	VG_(needs_command_line_options)(process_option, print_usage, print_debug_usage);
	VG_(needs_client_requests)(heap_client_request);
	VG_(needs_syscall_wrapper)(before_syscall, after_syscall);
	VG_(track_new_mem_mmap)(map);
	VG_(track_die_mem_munmap)(engine_unmapped);
	VG_(track_pre_thread_first_insn)(begin_thread);
	VG_(atfork)(before_fork, NULL, in_child);
	heap_init();
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
