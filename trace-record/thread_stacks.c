/* SPDX-License-Identifier: MIT */
#include "thread_stacks.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define WORDS 32768u     /* of a stack that are looked at for signal handlers */
#define NEAR_WORDS 512u  /* for callers: malloc, the loader and the recorder have small frames */
#define CALLEE_WORDS 24u /* the same for what malloc itself calls: memset, mmap, brk, waiting for a lock */
#define CONTEXTS_MOST 4u /* a thread's place, and those that handlers have interrupted */
#define USER_CODE 0x33u  /* the code segment of 64-bit programs */

/* The kernel's frame of a handler: the handler's return address, then this. */
struct handler_frame {
	uint64_t restorer;
	ucontext_t context;
};

#define FRAME_WORDS (offsetof(struct handler_frame, context.uc_mcontext.fpregs) / 8)

struct context {
	uint64_t pc;
	bool in_kernel; /* it has stopped in a system call */
	bool waits;     /* for what the loader doesn't read: a terminal, a pipe, a socket */
	long call;
	const uint64_t *stack; /* [n_words], from the stack pointer on */
	size_t n_words;
};

struct contexts {
	struct context items[CONTEXTS_MOST];
	uint32_t n;
};

static bool is_in(const struct code_range *range, uint64_t address)
{
	return address >= range->start && address < range->end;
}

static bool is_in_recorder(const struct code_map *map, uint64_t address)
{
	bool in = is_in(&map->recorder, address);

	for (uint32_t i = 0; i < ATTACHED_OBJECTS; i++)
		in |= is_in(&map->pieces[i], address);
	return in;
}

/* ---- contexts ---- */

/* The frame of a handler at a word of the stack; NULL: it is none. */
static const struct handler_frame *handler_frame_at(const struct code_map *map, const uint64_t *word,
						    size_t n_words)
{
	const struct handler_frame *frame = (const struct handler_frame *)(const void *)word;

	if (!map->restorer || n_words < FRAME_WORDS || frame->restorer != map->restorer ||
	    (frame->context.uc_mcontext.gregs[REG_CSGSFS] & 0xffff) != USER_CODE)
		return NULL;
	return frame;
}

static bool reads_stream(const struct target *target, const struct user_regs_struct *regs)
{
	char name[32], path[TARGET_PATH];
	struct stat file;

	if ((long)regs->orig_rax != SYS_read)
		return false;
	snprintf(name, sizeof(name), "fd/%d", (int)regs->rdi);
	target_path(target, path, name);
	return stat(path, &file) == 0 && !S_ISREG(file.st_mode);
}

static void add_context(struct contexts *all, const struct context *context)
{
	if (all->n < CONTEXTS_MOST)
		all->items[all->n++] = *context;
}

/*
 * `words` gets the stack of the thread's place. What a handler on another stack (sigaltstack) has interrupted has no stack
 * here, only its place.
 */
static void find_contexts(const struct target *target, const struct stopped_thread *thread,
			  const struct code_map *map, uint64_t words[WORDS], struct contexts *all)
{
	const struct user_regs_struct *regs = &thread->regs;
	const size_t n = target_read_words(target, regs->rsp & ~UINT64_C(7), words, WORDS);

	all->n = 0;
	add_context(all, &(struct context){ .pc = regs->rip,
					    .in_kernel = (int64_t)regs->orig_rax >= 0,
					    .waits = reads_stream(target, regs),
					    .call = (long)regs->orig_rax,
					    .stack = words,
					    .n_words = n });
	for (size_t i = 0; i < n; i++) {
		const struct handler_frame *frame = handler_frame_at(map, words + i, n - i);
		struct context context = { 0 };
		uint64_t sp;

		if (!frame)
			continue;
		context.pc = (uint64_t)frame->context.uc_mcontext.gregs[REG_RIP];
		sp = (uint64_t)frame->context.uc_mcontext.gregs[REG_RSP];
		if (sp > regs->rsp && (sp - regs->rsp) / 8 < n) {
			context.stack = words + (sp - regs->rsp) / 8;
			context.n_words = n - (sp - regs->rsp) / 8;
		}
		add_context(all, &context);
	}
}

static bool has_caller_in(const struct context *context, const struct code_range *range)
{
	for (size_t i = 0; i < context->n_words && i < NEAR_WORDS; i++) {
		if (is_in(range, context->stack[i]))
			return true;
	}
	return false;
}

/* ---- answers ---- */

/* A thread that waits in one of these calls is neither in malloc nor in the loader, whatever its stack still holds. */
static bool waits_elsewhere(const struct context *context)
{
	static const long calls[] = {
		SYS_poll,          SYS_ppoll,     SYS_select,  SYS_pselect6,        SYS_epoll_wait,
		SYS_epoll_pwait,   SYS_nanosleep, SYS_pause,   SYS_clock_nanosleep, SYS_wait4,
		SYS_waitid,        SYS_accept,    SYS_accept4, SYS_recvfrom,        SYS_recvmsg,
		SYS_rt_sigsuspend, SYS_write,     SYS_sendto,  SYS_sendmsg,         SYS_rt_sigtimedwait,
	};

	for (size_t i = 0; context->in_kernel && i < sizeof(calls) / sizeof(*calls); i++) {
		if (context->call == calls[i])
			return true;
	}
	return context->waits;
}

/*
 * What malloc and the loader call is libc's or their own, apart from constructors and handlers: so a thread in other code is
 * in neither. Constructors may load libraries, too; libgcc's code may be called by the loader to look at its list.
 */
static bool is_plain(const struct context *here, const struct code_map *map)
{
	if (is_in(&map->malloc, here->pc) || is_in(&map->loader, here->pc) ||
	    is_in(&map->unwinder, here->pc) || is_in(&map->allocator, here->pc) ||
	    is_in_recorder(map, here->pc))
		return false;
	return !is_in(&map->libc, here->pc) ||
	       !(has_caller_in(here, &map->malloc) || has_caller_in(here, &map->loader) ||
		 has_caller_in(here, &map->allocator) || has_caller_in(here, &map->recorder));
}

bool thread_can_host(const struct target *target, const struct stopped_thread *thread,
		     const struct code_map *map)
{
	static uint64_t words[WORDS];
	struct contexts all;

	if (thread->stop != THREAD_STOPPED || thread->signal != 0)
		return false;
	find_contexts(target, thread, map, words, &all);
	if (all.n != 1)
		return false;
	return waits_elsewhere(&all.items[0]) || (!map->allocator_is_program && is_plain(&all.items[0], map));
}

static bool is_behind_entry(const struct code_map *map, uint64_t pc)
{
	if (!is_in(&map->entered, pc))
		return false;
	for (uint32_t i = 0; i < map->n_entries; i++) {
		const struct attached_entry *e = &map->entries[i];

		if (pc > e->address && pc < e->address + e->n_displaced)
			return true;
	}
	return false;
}

/* Also in handlers whose frames are not known by the restorer. */
static bool is_in_entry(const struct contexts *all, const struct code_map *map)
{
	for (uint32_t i = 0; i < all->n; i++) {
		if (is_behind_entry(map, all->items[i].pc))
			return true;
	}
	for (size_t i = 0; i < all->items[0].n_words; i++) {
		if (is_behind_entry(map, all->items[0].stack[i]))
			return true;
	}
	return false;
}

static bool is_in_malloc(const struct contexts *all, const struct code_map *map)
{
	for (uint32_t i = 0; i < all->n; i++) {
		struct context near = all->items[i];

		near.n_words = near.n_words < CALLEE_WORDS ? near.n_words : CALLEE_WORDS;
		if (is_in(&map->malloc, near.pc) || (is_in(&map->libc, near.pc) && !waits_elsewhere(&near) &&
						     has_caller_in(&near, &map->malloc)))
			return true;
	}
	return false;
}

/* Of a thread that stands still; until the next call. False: it does not. */
static bool find_stopped(const struct target *target, const struct stopped_thread *thread,
			 const struct code_map *map, struct contexts *all)
{
	static uint64_t words[WORDS];

	if (thread->stop != THREAD_STOPPED)
		return false;
	find_contexts(target, thread, map, words, all);
	return true;
}

bool thread_is_in_entry(const struct target *target, const struct stopped_thread *thread,
			const struct code_map *map)
{
	struct contexts all;

	return find_stopped(target, thread, map, &all) && is_in_entry(&all, map);
}

bool thread_is_in_malloc(const struct target *target, const struct stopped_thread *thread,
			 const struct code_map *map)
{
	struct contexts all;

	return find_stopped(target, thread, map, &all) && (is_in_entry(&all, map) || is_in_malloc(&all, map));
}

bool thread_is_in_recorder(const struct target *target, const struct stopped_thread *thread,
			   const struct code_map *map)
{
	struct contexts all;

	if (!find_stopped(target, thread, map, &all))
		return false;
	for (uint32_t i = 0; i < all.n; i++) {
		const struct context *context = &all.items[i];

		/* The recorder's own system calls are in its own code; what it calls in libc waits for nothing. */
		if (is_in_recorder(map, context->pc) ||
		    (!context->in_kernel && has_caller_in(context, &map->recorder)))
			return true;
	}
	return false;
}

bool thread_is_in_loader(const struct target *target, const struct stopped_thread *thread,
			 const struct code_map *map)
{
	struct contexts all;

	if (!find_stopped(target, thread, map, &all))
		return false;
	for (uint32_t i = 0; i < all.n; i++) {
		if (is_in(&map->loader, all.items[i].pc) ||
		    (!waits_elsewhere(&all.items[i]) && has_caller_in(&all.items[i], &map->loader)))
			return true;
	}
	return false;
}
