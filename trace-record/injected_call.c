/* SPDX-License-Identifier: MIT */
#include "injected_call.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#include "os.h" /* and cpuid.h, which GCC 10 lets be included once */

#define STACK_BYTES (512u << 10)
#define SCRATCH_BYTES (16u << 10) /* of the stack's beginning: what functions are to read */
#define RED_ZONE 128u             /* below a stack pointer, the function's */
#define STEP_MS 1000u             /* for what ends without waiting */
#define RESTORER_BYTES 9u
#define SYSCALL_BYTES 2u
#define PATIENCE 20u              /* times `ms`, with a call that has done more than wait */
#define DIRECTION_AND_TRAP 0x500u /* flags that a function finds clear */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* Waits for the thread's next stop. False: it is gone, or `ms` have passed; *status is 0 then. */
static bool await(struct host *h, unsigned ms, int *status)
{
	const struct timespec pause = { 0, 20000 };
	const uint64_t until = now_ms() + ms;

	for (;;) {
		const pid_t got = waitpid(h->tid, status, __WALL | WNOHANG);

		if (got == h->tid && WIFSTOPPED(*status))
			return true;
		if (got == h->tid || (got < 0 && errno != EINTR)) {
			h->lost = true;
			break;
		}
		if (now_ms() > until)
			break;
		nanosleep(&pause, NULL);
	}
	*status = 0;
	return false;
}

static bool resume(struct host *h, int request, int signal_number)
{
	if (ptrace(request, h->tid, NULL, (void *)(intptr_t)signal_number) != 0) // NOLINT
		h->lost |= errno == ESRCH;
	return !h->lost;
}

static bool is_event(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

static bool is_syscall(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/*
 * Brings the thread to the stop that a request to stop makes. Only there does the kernel look, behind it, whether a system
 * call has to be made again; so only there may the saved registers be put back.
 */
static bool settle(struct host *h)
{
	int status;

	ptrace(PTRACE_INTERRUPT, h->tid, NULL, NULL);
	resume(h, PTRACE_CONT, 0);
	while (!h->lost && await(h, STEP_MS, &status)) {
		if (is_event(status) && WSTOPSIG(status) == SIGTRAP)
			return true;
		resume(h, PTRACE_CONT, 0);
	}
	h->lost = true;
	return false;
}

/* What a fault of the call itself would raise stays: the kernel would reset a blocked one's handler. */
static uint64_t blocked_signals(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	uint64_t mask = ~UINT64_C(0);

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		mask &= ~(UINT64_C(1) << (faults[i] - 1));
	return mask;
}

/* ---- the frame of a handler ---- */

#define FRAME_FLAGS 7u /* vector registers are there; the stack segment is as it should be */
#define FLAGS_OF_CONTEXT (UINT64_C(0x2b) << 48 | 0x33)
#define MAGIC_BEFORE 0x46505853u
#define MAGIC_BEHIND 0x46505845u
#define MAGIC_AT 464u /* of the vector registers' area: what it holds, for sigreturn */
#define FEATURES_MOST 63u

/* What sigreturn finds behind the registers of fxsave. */
struct xstate_note {
	uint32_t magic, extended_bytes;
	uint64_t features;
	uint32_t bytes;
};

/*
 * Bytes of the area that hold features of a set, in the processor's layout. A thread that has not asked for the large ones
 * (AMX) cannot restore an area with room for them.
 */
static size_t xstate_size(uint64_t features, size_t most)
{
	size_t size = 576; /* fxsave's, and the header */

	for (unsigned i = 2; i < FEATURES_MOST; i++) {
		unsigned bytes, offset, c, d;

		if (!(features >> i & 1))
			continue;
		__cpuid_count(0xd, i, bytes, offset, c, d);
		if (offset + bytes > size)
			size = offset + bytes;
	}
	return size < most ? size : most;
}

/* Adds the notes by which sigreturn knows the area. Returns its bytes. */
static size_t complete_xstate(const struct host *h, uint8_t area[HOST_XSTATE_MOST + 64])
{
	const uint32_t behind = MAGIC_BEHIND;
	struct xstate_note note = { .magic = MAGIC_BEFORE };
	uint64_t in_use;

	memcpy(area, h->xstate, h->xstate_bytes);
	memcpy(&note.features, area + MAGIC_AT, sizeof(note.features)); /* ptrace puts them there */
	memcpy(&in_use, area + 512, sizeof(in_use));
	note.features &= ~(UINT64_C(3) << 17) | in_use;
	note.bytes = (uint32_t)xstate_size(note.features, h->xstate_bytes);
	note.extended_bytes = note.bytes + (uint32_t)sizeof(behind);
	memset(area + MAGIC_AT, 0, 512 - MAGIC_AT);
	memcpy(area + MAGIC_AT, &note.magic, 4);
	memcpy(area + MAGIC_AT + 4, &note.extended_bytes, 4);
	memcpy(area + MAGIC_AT + 8, &note.features, 8);
	memcpy(area + MAGIC_AT + 16, &note.bytes, 4);
	memcpy(area + note.bytes, &behind, sizeof(behind));
	return note.extended_bytes;
}

/* The thread as it was; a system call that the stop has interrupted is made again, as the kernel would do. */
static void put_registers(const struct host *h, greg_t to[NGREG])
{
	const struct user_regs_struct *r = &h->saved;
	const int64_t result = (int64_t)r->rax;
	const bool again = (int64_t)r->orig_rax >= 0 && result <= -512 && result >= -516 && result != -515;
	const uint64_t call = result == -516 ? SYS_restart_syscall : r->orig_rax;

	to[REG_R8] = (greg_t)r->r8;
	to[REG_R9] = (greg_t)r->r9;
	to[REG_R10] = (greg_t)r->r10;
	to[REG_R11] = (greg_t)r->r11;
	to[REG_R12] = (greg_t)r->r12;
	to[REG_R13] = (greg_t)r->r13;
	to[REG_R14] = (greg_t)r->r14;
	to[REG_R15] = (greg_t)r->r15;
	to[REG_RDI] = (greg_t)r->rdi;
	to[REG_RSI] = (greg_t)r->rsi;
	to[REG_RBP] = (greg_t)r->rbp;
	to[REG_RBX] = (greg_t)r->rbx;
	to[REG_RDX] = (greg_t)r->rdx;
	to[REG_RCX] = (greg_t)r->rcx;
	to[REG_RSP] = (greg_t)r->rsp;
	to[REG_RAX] = (greg_t)(again ? call : r->rax);
	to[REG_RIP] = (greg_t)(again ? r->rip - SYSCALL_BYTES : r->rip);
	to[REG_EFL] = (greg_t)r->eflags;
	to[REG_CSGSFS] = (greg_t)FLAGS_OF_CONTEXT;
}

/* Of the kernel's ucontext, which is shorter than libc's. */
#define CONTEXT_BYTES (offsetof(ucontext_t, uc_sigmask) + 8)

/*
 * Writes the frame below `top`, and in front of it the address that a function returns to. Returns where that is, or 0. The
 * alternate signal stack is none that could be set, so that the thread's own stays.
 */
static uint64_t put_frame(struct host *h, uint64_t top)
{
	uint8_t area[HOST_XSTATE_MOST + 64];
	const size_t bytes = complete_xstate(h, area);
	const uint64_t xstate_at = (top - bytes) & ~UINT64_C(63);
	const uint64_t at = (xstate_at - CONTEXT_BYTES - 128) & ~UINT64_C(15);
	ucontext_t context;

	memset(&context, 0, sizeof(context));
	context.uc_flags = FRAME_FLAGS;
	put_registers(h, context.uc_mcontext.gregs);
	context.uc_mcontext.fpregs = (fpregset_t)xstate_at; // NOLINT(performance-no-int-to-ptr)
	memcpy(&context.uc_sigmask, &h->mask, sizeof(h->mask));
	if (!target_write(h->target, xstate_at, area, bytes) ||
	    !target_write(h->target, at, &context, CONTEXT_BYTES) ||
	    !target_write(h->target, at - 8, h->stub ? &h->stub : &h->functions.restorer, 8))
		return 0;
	return at - 8;
}

/* ---- calls ---- */

/* Where functions return to: keeps the result in the place of the return address, and restores the thread. */
static const uint8_t stub[] = {
	0x48, 0x89, 0x44, 0x24, 0xf8,       /* mov %rax, -8(%rsp) */
	0x48, 0xc7, 0xc0, 15,   0,    0, 0, /* mov $15, %rax */
	0x0f, 0x05,                         /* syscall */
};

/* The thread has the function's first instruction before it, and a frame to return to. *sp: behind the return. */
static bool prepare_call(struct host *h, uint64_t function, const uint64_t arguments[6], uint64_t *sp)
{
	const uint64_t top = h->stack ? h->stack + STACK_BYTES : h->saved.rsp - RED_ZONE;
	const uint64_t mask = blocked_signals(), at = h->lost ? 0 : put_frame(h, top);
	struct user_regs_struct regs = h->saved;

	if (!at)
		return false;
	assert((at + 8) % 16 == 0);
	*sp = at + 8;
	regs.rsp = at;
	regs.rbp = 0;
	regs.rip = function;
	regs.rdi = arguments[0];
	regs.rsi = arguments[1];
	regs.rdx = arguments[2];
	regs.rcx = arguments[3];
	regs.r8 = arguments[4];
	regs.r9 = arguments[5];
	regs.rax = 0;
	regs.orig_rax = UINT64_MAX; /* no system call is made again */
	regs.eflags &= ~(uint64_t)DIRECTION_AND_TRAP;
	h->held = ptrace(PTRACE_SETREGS, h->tid, NULL, &regs) == 0;
	return h->held && ptrace(PTRACE_SETSIGMASK, h->tid, (void *)sizeof(mask), &mask) == 0; // NOLINT
}

/*
 * The function has returned, and stands before sigreturn. A harmless call is made instead, which seccomp filters allow: they
 * see this number, and would see -1, too. If msrec dies the thread comes to sigreturn again.
 */
static bool finish_call(struct host *h, struct user_regs_struct *regs)
{
	regs->orig_rax = SYS_getpid;
	regs->rip = h->stub ? h->stub : h->functions.restorer;
	return ptrace(PTRACE_SETREGS, h->tid, NULL, regs) == 0 && settle(h);
}

static bool is_lock_wait(const struct user_regs_struct *regs)
{
	const unsigned op = (unsigned)regs->rsi & FUTEX_CMD_MASK;

	return regs->orig_rax == SYS_futex && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET);
}

/* The stop has found the thread waiting in the kernel (ERESTARTSYS and its like, which are the kernel's own). */
static bool is_waiting(const struct user_regs_struct *regs)
{
	const int64_t result = (int64_t)regs->rax;

	return is_lock_wait(regs) && result <= -512 && result >= -516;
}

/* Stops the running thread. True: the call can be given up, because it waits for its first lock. */
static bool may_give_up(struct host *h, bool only_waits)
{
	struct user_regs_struct regs;
	int status;

	ptrace(PTRACE_INTERRUPT, h->tid, NULL, NULL);
	if (!await(h, STEP_MS, &status))
		return h->lost;
	if (!is_event(status) && !settle(h))
		return true;
	return only_waits && ptrace(PTRACE_GETREGS, h->tid, NULL, &regs) == 0 && is_waiting(&regs);
}

/* Where the thread stands when it is about to make sigreturn. */
static uint64_t return_stop(const struct host *h)
{
	return h->stub ? h->stub + sizeof(stub) : h->functions.restorer + RESTORER_BYTES;
}

/* Until the function has returned (1), the thread has faulted or is gone (-1), or `until` is over (0). */
static int run_call(struct host *h, uint64_t sp, uint64_t until, bool *only_waits, uint64_t *result)
{
	int status;

	while (resume(h, PTRACE_SYSCALL, 0)) {
		struct user_regs_struct regs;

		if (!await(h, now_ms() < until ? (unsigned)(until - now_ms()) : 0, &status))
			return h->lost ? -1 : 0;
		if (is_event(status))
			continue;
		if (!is_syscall(status))
			h->fault = WSTOPSIG(status);
		if (!is_syscall(status) || ptrace(PTRACE_GETREGS, h->tid, NULL, &regs) != 0)
			break;
		if (regs.rsp == sp && regs.rip == return_stop(h)) {
			target_read(h->target, sp - 8, result, sizeof(*result));
			return finish_call(h, &regs) ? 1 : -1;
		}
		*only_waits &= is_lock_wait(&regs);
	}
	return -1;
}

bool host_call(struct host *h, uint64_t function, const uint64_t arguments[6], unsigned ms, uint64_t *result)
{
	const uint64_t start = now_ms();
	bool only_waits = true;
	int ended = 0;
	uint64_t sp;

	if (!prepare_call(h, function, arguments, &sp))
		return false;
	for (unsigned i = 1; i <= PATIENCE && ended == 0; i++) {
		ended = run_call(h, sp, start + (uint64_t)i * ms, &only_waits, result);
		if (ended == 0 && may_give_up(h, only_waits))
			return false;
	}
	if (ended > 0)
		return true;
	h->abandoned = true;
	if (ended < 0 && !h->lost)
		settle(h);
	return false;
}

int64_t host_syscall(struct host *h, long number, const uint64_t arguments[4])
{
	const uint64_t all[6] = { (uint64_t)number, arguments[0], arguments[1], arguments[2], arguments[3] };
	uint64_t result = 0;
	int error_number = 0;

	if (!host_call(h, h->functions.syscall, all, STEP_MS, &result))
		return -ESRCH;
	if (result != UINT64_MAX)
		return (int64_t)result;
	return h->errno_at && target_read(h->target, h->errno_at, &error_number, sizeof(error_number))
		       ? -error_number
		       : -EINVAL;
}

uint64_t host_copy(struct host *h, const void *bytes, size_t n)
{
	const uint64_t at = h->stack + h->scratch_used;

	if (n > SCRATCH_BYTES - h->scratch_used || !target_write(h->target, at, bytes, n))
		return 0;
	h->scratch_used += (n + 15) / 16 * 16;
	return at;
}

/* ---- holding ---- */

static bool save(struct host *h)
{
	struct iovec state = { h->xstate, sizeof(h->xstate) };

	if (ptrace(PTRACE_GETREGSET, h->tid, (void *)NT_X86_XSTATE, &state) != 0 || // NOLINT
	    state.iov_len < 576 || state.iov_len >= sizeof(h->xstate) ||
	    ptrace(PTRACE_GETSIGMASK, h->tid, (void *)sizeof(h->mask), &h->mask) != 0) // NOLINT
		return false;
	h->xstate_bytes = state.iov_len;
	return true;
}

/* The middle of the largest part of the address space that is free. */
static uint64_t find_free_page(const struct target *t)
{
	uint64_t most = 0, at = 0;

	for (uint32_t i = 1; i < t->n_mappings; i++) {
		const uint64_t end = t->mappings[i - 1].end, start = t->mappings[i].start;

		if (start > end && start - end > most && start < UINT64_C(1) << 47) {
			most = start - end;
			at = end + most / 2;
		}
	}
	return at & ~(PAGE - 1);
}

/* Until then results of calls are not known: the page is where it should be, or nowhere. */
static bool map_stub(struct host *h)
{
	const uint64_t at = find_free_page(h->target);
	const struct mapping *m;

	if (!at)
		return false;
	host_call(h, h->functions.mmap,
		  (const uint64_t[6]){ at, PAGE, PROT_READ | PROT_EXEC,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX, 0 },
		  STEP_MS, &(uint64_t){ 0 });
	if (h->lost || target_look(h->target) != 0)
		return false;
	m = target_mapping(h->target, at);
	if (!m || m->start != at || !m->executable || m->path[0] ||
	    !target_write(h->target, at, stub, sizeof(stub)))
		return false;
	h->stub = at;
	return true;
}

static bool find_errno(struct host *h)
{
	uint64_t at = 0;

	if (!host_call(h, h->functions.errno_location, (uint64_t[6]){ 0 }, STEP_MS, &at) ||
	    !target_read(h->target, at, &h->error_number, sizeof(h->error_number)))
		return false;
	h->errno_at = at;
	return true;
}

static bool map_stack(struct host *h)
{
	uint64_t at = UINT64_MAX;

	if (!host_call(h, h->functions.mmap,
		       (const uint64_t[6]){ 0, STACK_BYTES, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0 },
		       STEP_MS, &at) ||
	    at == UINT64_MAX)
		return false;
	h->stack = at;
	return true;
}

bool host_hold(struct host *h, struct target *target, const struct stopped_thread *thread,
	       const struct host_functions *functions)
{
	assert(thread->stop == THREAD_STOPPED && thread->signal == 0);
	*h = (struct host){
		.target = target, .tid = thread->tid, .functions = *functions, .saved = thread->regs
	};
	return save(h) && map_stub(h) && find_errno(h) && map_stack(h);
}

/* Unmaps what was mapped; the thread is on its own stack then, and at last returns to libc's code. */
static void unmap(struct host *h)
{
	const uint64_t stack = h->stack, page = h->stub;

	h->stack = 0;
	if (stack)
		host_syscall(h, SYS_munmap, (const uint64_t[4]){ stack, STACK_BYTES });
	h->stub = 0;
	if (page)
		host_syscall(h, SYS_munmap, (const uint64_t[4]){ page, PAGE });
}

/* In an order in which the thread goes on rightly if msrec dies in between. */
static void restore(struct host *h)
{
	struct iovec state = { h->xstate, h->xstate_bytes };

	ptrace(PTRACE_SETSIGMASK, h->tid, (void *)sizeof(h->mask), &h->mask); // NOLINT
	ptrace(PTRACE_SETREGSET, h->tid, (void *)NT_X86_XSTATE, &state);      // NOLINT
	ptrace(PTRACE_SETREGS, h->tid, NULL, &h->saved);
}

void host_release(struct host *h)
{
	if (!h->abandoned && !h->lost)
		unmap(h);
	if (h->errno_at && !h->lost)
		target_write(h->target, h->errno_at, &h->error_number, sizeof(h->error_number));
	if (h->lost)
		return;
	if (h->held)
		restore(h);
	ptrace(PTRACE_DETACH, h->tid, NULL, NULL);
}
