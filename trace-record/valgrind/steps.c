/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each change of the stack pointer, as a stream of bytes: what FORMAT.md says of the column of steps, which
 * goes into the trace as it is. Zeros fill records up.
 */
#include "engine.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_tooliface.h"

#define STEP_MOST 20u /* bytes of one */

static struct {
	UChar bytes[SHM_SP_CHANGE_BYTES + STEP_MOST];
	UInt n;
	ULong told; /* instructions as of the last step or call */
	Bool begun;
} steps;

/* Sends the first `n` bytes; those up to `end` stay for the next record. */
static void send(UInt n, UInt end)
{
	UChar record[SHM_SP_CHANGE_BYTES] = { 0 };

	VG_(memcpy)(record, steps.bytes, n);
	ring_tell_steps(record);
	VG_(memmove)(steps.bytes, steps.bytes + n, end - n);
	steps.n = end - n;
}

void steps_flush(void)
{
	if (steps.n)
		send(steps.n, steps.n);
	steps.told = engine_instructions;
}

void steps_begin(void)
{
	steps.begun = True;
}

static inline UChar *put_varint(UChar *at, ULong value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (UChar)value | 0x80;
	*at++ = (UChar)value;
	return at;
}

/* A step is never split between records. */
static inline void step(SizeT size, Bool shrinks)
{
	const ULong passed = engine_instructions - steps.told;
	const ULong units = size % 8 ? size << 1 | 1 : size / 8 << 1;
	UChar *at = steps.bytes + steps.n;

	if (!steps.begun)
		return;
	at = put_varint(at, units << 2 | shrinks << 1 | (passed != 0));
	if (passed)
		at = put_varint(at, passed);
	steps.told = engine_instructions;
	if (at <= steps.bytes + SHM_SP_CHANGE_BYTES) {
		steps.n = (UInt)(at - steps.bytes);
		return;
	}
	send(steps.n, (UInt)(at - steps.bytes));
}

#define STEP_OF(size)                                                                                        \
	static VG_REGPARM(1) void grow_##size(Addr sp)                                                       \
	{                                                                                                    \
		(void)sp;                                                                                    \
		step(size, False);                                                                           \
	}                                                                                                    \
	static VG_REGPARM(1) void shrink_##size(Addr sp)                                                     \
	{                                                                                                    \
		(void)sp;                                                                                    \
		step(size, True);                                                                            \
	}

STEP_OF(8)
STEP_OF(16)
STEP_OF(32)
STEP_OF(112)
STEP_OF(128)
STEP_OF(144)
STEP_OF(160)

static void grow(Addr start, SizeT size)
{
	(void)start;
	step(size, False);
}

static void shrink(Addr start, SizeT size)
{
	(void)start;
	step(size, True);
}

static void grow_for_signal(Addr start, SizeT size, ThreadId tid)
{
	(void)start;
	(void)tid;
	step(size, False);
}

#define TRACK(size)                                                                                          \
	VG_(track_new_mem_stack_##size)(grow_##size);                                                        \
	VG_(track_die_mem_stack_##size)(shrink_##size)

void steps_init(void)
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
