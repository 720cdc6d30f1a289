/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h" /* has pub_tool_xarray.h */
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_vki.h"

#define INNER 80u        /* frames that are always walked */
#define WORDS (8u << 10) /* remembered words of a stack */

/* Frames from the innermost: their pcs, stack pointers and frame pointers. */
struct walk {
	Addr *pcs, *sps, *fps;
	UInt n;
};

static struct {
	struct walk last;  /* the remembered whole walk; none: n = 0 */
	struct walk inner; /* of the present stack; `pcs` is the caller's array */
	Bool cut;          /* `last` has as many frames as were wanted: there may be more */
	Bool merges;       /* Valgrind merges recursive frames: outer frames depend on inner ones */
	UInt most;
	ULong words[WORDS]; /* of memory, from last.sps[0] to the word at the outermost of last.sps */
} unwinder;

static Addr *addresses(UInt n)
{
	return VG_(malloc)("msrec.unwind", n * sizeof(Addr));
}

void unwind_init(UInt most)
{
	static const HChar merging[] = "--merge-recursive-frames";

	unwinder.most = most;
	unwinder.last = (struct walk){ addresses(most), addresses(most), addresses(most), 0 };
	unwinder.inner = (struct walk){ NULL, addresses(INNER), addresses(INNER), 0 };
	for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_valgrind)); i++) {
		const HChar *arg = *(HChar **)VG_(indexXA)(VG_(args_for_valgrind), i);

		unwinder.merges |= VG_(strncmp)(arg, merging, sizeof(merging) - 1) == 0;
	}
}

void unwind_forget(void)
{
	unwinder.last.n = 0;
}

/* The index of the remembered frame with that stack pointer, or last.n. */
static UInt find_frame(Addr sp)
{
	UInt low = 0, high = unwinder.last.n;

	while (low < high) {
		const UInt middle = low + (high - low) / 2;

		if (unwinder.last.sps[middle] < sp)
			low = middle + 1;
		else
			high = middle;
	}
	return low < unwinder.last.n && unwinder.last.sps[low] == sp ? low : unwinder.last.n;
}

/* Words of memory from an address to the outermost frame of a walk. */
static UWord count_words(const struct walk *walk, Addr from)
{
	return (walk->sps[walk->n - 1] - from) / sizeof(ULong) + 1;
}

static Bool is_readable(Addr from, UWord words)
{
	return VG_(am_is_valid_for_client)(from, words * sizeof(ULong), VKI_PROT_READ);
}

/* Whether the stack from an address on has the remembered words. */
static Bool is_unchanged(Addr from)
{
	const ULong *now = (const ULong *)from;
	const ULong *then = unwinder.words + (from - unwinder.last.sps[0]) / sizeof(ULong);
	const UWord n = count_words(&unwinder.last, from);

	if (!is_readable(from, n))
		return False;
	for (UWord i = 0; i < n; i++) {
		if (now[i] != then[i])
			return False;
	}
	return True;
}

/* Appends the remembered outer frames, if the stack goes on outside of `inner` as the remembered one. Returns the number of
 * frames, `most` at most; 0: it does not. */
static UInt go_on(Addr *frames, UInt most)
{
	const struct walk *last = &unwinder.last, *inner = &unwinder.inner;
	const UInt at = find_frame(inner->sps[INNER - 1]);
	UInt n;

	if (at == last->n || last->pcs[at] != frames[INNER - 1] || last->fps[at] != inner->fps[INNER - 1])
		return 0;
	n = last->n - at - 1;
	if (n > most - INNER)
		n = most - INNER;
	else if (unwinder.cut && n < most - INNER)
		return 0;
	if (!is_unchanged(last->sps[at]))
		return 0;
	VG_(memcpy)(frames + INNER, last->pcs + at + 1, n * sizeof(*frames));
	return INNER + n;
}

/*
 * Whether the walk can be remembered: it lies on one stack, in the order of addresses. It must have ended by the wanted number
 * of frames, or by a frame with a frame pointer of 0, behind which the unwinder reads nothing.
 */
static Bool is_plain(const struct walk *walk)
{
	if (walk->sps[0] % sizeof(ULong) || (!unwinder.cut && walk->fps[walk->n - 1]))
		return False;
	for (UInt i = 1; i < walk->n; i++) {
		if (walk->sps[i] < walk->sps[i - 1] || walk->sps[i] % sizeof(ULong))
			return False;
	}
	return count_words(walk, walk->sps[0]) <= WORDS &&
	       is_readable(walk->sps[0], count_words(walk, walk->sps[0]));
}

static UInt walk_whole(ThreadId tid, Addr *frames, UInt most)
{
	struct walk *last = &unwinder.last;
	const UInt n = VG_(get_StackTrace)(tid, last->pcs, most, last->sps, last->fps, 0);

	VG_(memcpy)(frames, last->pcs, n * sizeof(*frames));
	last->n = n;
	unwinder.cut = n == most;
	if (n <= INNER || !is_plain(last))
		last->n = 0;
	for (UWord i = 0; last->n && i < count_words(last, last->sps[0]); i++)
		unwinder.words[i] = ((const ULong *)last->sps[0])[i];
	return n;
}

UInt unwind(ThreadId tid, Addr *frames, UInt most)
{
	struct walk *inner = &unwinder.inner;
	UInt n;

	if (most <= INNER || unwinder.merges)
		return VG_(get_StackTrace)(tid, frames, most, NULL, NULL, 0);
	inner->n = VG_(get_StackTrace)(tid, frames, INNER, inner->sps, inner->fps, 0);
	if (inner->n < INNER)
		return inner->n;
	n = go_on(frames, most);
	return n ? n : walk_whole(tid, frames, most);
}
