/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mapped and unmapped pages, as Valgrind's core reports them. A mapping that moves is an unmapping, a mapping, and a mapping of
 * what it has grown by, in the order in which Massif counts them.
 */
#include "engine.h"

#include "mst_op.h"
#include "objects.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "stacks.h"

static void emit(UChar op, Addr start, SizeT size)
{
	const ThreadId tid = VG_(get_running_tid)();
	struct event event = {
		.op = op,
		.node = tid == VG_INVALID_THREADID ? stacks_single(0) : stacks_capture(tid, 0),
		.size = size,
		.operands = { start },
	};

	engine_emit(tid, &event);
}

static void start_with(Addr start, SizeT size, Bool r, Bool w, Bool x, ULong debug_info)
{
	(void)r;
	(void)w;
	(void)x;
	(void)debug_info;
	emit(MST_OP_PAGE_START, start, size);
}

static void map(Addr start, SizeT size, Bool r, Bool w, Bool x, ULong debug_info)
{
	(void)r;
	(void)w;
	(void)x;
	engine_mapped(start, size, debug_info);
	emit(MST_OP_PAGE_MMAP, start, size);
}

static void unmap(Addr start, SizeT size)
{
	engine_unmapped(start, size);
	emit(MST_OP_PAGE_MUNMAP, start, size);
}

static void move(Addr from, Addr to, SizeT size)
{
	unmap(from, size);
	emit(MST_OP_PAGE_MMAP, to, size);
}

static void grow_break(Addr start, SizeT size, ThreadId tid)
{
	(void)tid;
	emit(MST_OP_PAGE_BRK_GROW, start, size);
}

static void shrink_break(Addr start, SizeT size)
{
	emit(MST_OP_PAGE_BRK_SHRINK, start, size);
}

/* Takes the malloc replacement out of the program's LD_PRELOAD, in place. */
static void leave_malloc(void)
{
	static const HChar ours[] = "/vgpreload_massif-";
	HChar *list = VG_(getenv)(VG_(LD_PRELOAD_var_name));
	HChar *found = list ? VG_(strstr)(list, ours) : NULL, *end = found;

	if (!found)
		return;
	while (found > list && *found != ':')
		found--;
	while (*end && *end != ':')
		end++;
	VG_(memmove)(found, end, VG_(strlen)(end) + 1);
}

void pages_init(void)
{
	leave_malloc();
	VG_(track_new_mem_startup)(start_with);
	VG_(track_new_mem_mmap)(map);
	VG_(track_copy_mem_remap)(move);
	VG_(track_die_mem_munmap)(unmap);
	VG_(track_new_mem_brk)(grow_break);
	VG_(track_die_mem_brk)(shrink_break);
}
