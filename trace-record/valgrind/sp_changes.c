/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each change of the stack pointer, as the stream of bytes that FORMAT.md describes; msrec copies it into the trace. Zeros fill
 * records up.
 */
#include "engine.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_tooliface.h"

#define CHANGE_MOST 20u /* bytes of a change */

static struct {
	UChar bytes[SHM_SP_CHANGE_BYTES + CHANGE_MOST];
	UInt n;
	ULong emitted; /* instructions at the last change or call */
	Bool begun;
} sp_changes;

/* Sends the first `n` bytes; those up to `end` stay for the next record. */
static void send(UInt n, UInt end)
{
	UChar record[SHM_SP_CHANGE_BYTES] = { 0 };

	VG_(memcpy)(record, sp_changes.bytes, n);
	ring_emit_sp_changes(record);
	VG_(memmove)(sp_changes.bytes, sp_changes.bytes + n, end - n);
	sp_changes.n = end - n;
}

void sp_changes_flush(void)
{
	if (sp_changes.n)
		send(sp_changes.n, sp_changes.n);
	sp_changes.emitted = engine_instructions;
}

void sp_changes_begin(void)
{
	sp_changes.begun = True;
}

static inline UChar *put_varint(UChar *at, ULong value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (UChar)value | 0x80;
	*at++ = (UChar)value;
	return at;
}

/* A change is never split between records. */
static inline void change(SizeT size, Bool shrinks)
{
	const ULong passed = engine_instructions - sp_changes.emitted;
	const ULong units = size % 8 ? size << 1 | 1 : size / 8 << 1;
	UChar *at = sp_changes.bytes + sp_changes.n;

	if (!sp_changes.begun)
		return;
	at = put_varint(at, units << 2 | shrinks << 1 | (passed != 0));
	if (passed)
		at = put_varint(at, passed);
	sp_changes.emitted = engine_instructions;
	if (at <= sp_changes.bytes + SHM_SP_CHANGE_BYTES) {
		sp_changes.n = (UInt)(at - sp_changes.bytes);
		return;
	}
	send(sp_changes.n, (UInt)(at - sp_changes.bytes));
}

#define CHANGE_OF(size)                                                                                      \
	static VG_REGPARM(1) void grow_##size(Addr sp)                                                       \
	{                                                                                                    \
		(void)sp;                                                                                    \
		change(size, False);                                                                         \
	}                                                                                                    \
	static VG_REGPARM(1) void shrink_##size(Addr sp)                                                     \
	{                                                                                                    \
		(void)sp;                                                                                    \
		change(size, True);                                                                          \
	}

CHANGE_OF(8)
CHANGE_OF(16)
CHANGE_OF(32)
CHANGE_OF(112)
CHANGE_OF(128)
CHANGE_OF(144)
CHANGE_OF(160)

static void grow(Addr start, SizeT size)
{
	(void)start;
	change(size, False);
}

static void shrink(Addr start, SizeT size)
{
	(void)start;
	change(size, True);
}

static void grow_for_signal(Addr start, SizeT size, ThreadId tid)
{
	(void)start;
	(void)tid;
	change(size, False);
}

#define TRACK(size)                                                                                          \
	VG_(track_new_mem_stack_##size)(grow_##size);                                                        \
	VG_(track_die_mem_stack_##size)(shrink_##size)

void sp_changes_init(void)
{
	TRACK(8);
	TRACK(16);
	TRACK(32);
	TRACK(112);
	TRACK(128);
	TRACK(144);
	TRACK(160);
	VG_(track_new_mem_stack)(grow);
	VG_(track_die_mem_stack)(shrink);
	VG_(track_new_mem_stack_signal)(grow_for_signal);
	VG_(track_die_mem_stack_signal)(shrink);
}
