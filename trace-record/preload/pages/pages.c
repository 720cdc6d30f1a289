/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>

#include "mst_op.h"
#include "os.h"
#include "recorder_assert.h"
#include "syscall_patch.h"
#include "trampoline.h"

#define KEEP_OLD 4u /* MREMAP_DONTUNMAP */

/* Where a process's address space ends; the kernel's entries in the list of mappings lie behind. */
#define USER_END ((uintptr_t)1 << 47)

static const struct pages_recorder *recorder;

/* ---- one call at a time ---- */

/*
 * A lock covers the call and its event, so that events are in the order of the calls. A thread that was killed with the lock
 * would stop all others, so waiting is bounded; then the lock is taken over.
 */
#define SPINS 1000u
#define SLEEPS 500u /* of a tenth of a millisecond */

static uintptr_t state_break; /* the program break; under the lock */

/*
 * Counts seccomp filters of the program, which may end it for unexpected system calls. From the first one on the module makes
 * no system calls of its own, and what these would have found is missing.
 */
static _Atomic uint32_t confined;

static bool lock(void)
{
	static const struct timespec nap = { 0, 100000 };
	_Atomic uintptr_t *const owner = recorder->owner;
	const uintptr_t self = cpu_thread_pointer();

	for (unsigned i = 0; i < SPINS + SLEEPS; i++) {
		uintptr_t expected = 0;

		if (atomic_compare_exchange_strong(owner, &expected, self))
			return true;
		if (expected == self)
			return false; /* a signal handler, inside a call of the thread */
		if (i < SPINS || confined)
			cpu_pause();
		else
			os_call6(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
	atomic_store(owner, self);
	return true;
}

static void unlock(void)
{
	atomic_store(recorder->owner, 0);
}

/* ---- the list of mappings ---- */

/* /proc/self/maps, a byte at a time. */
struct listing {
	int fd;
	size_t at, n;
	char bytes[1024];
};

struct mapping {
	uintptr_t start, end;
	uint64_t offset, inode;
	bool code;
};

static bool listing_open(struct listing *l)
{
	l->fd = (int)os_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	l->at = l->n = 0;
	return l->fd >= 0;
}

static void listing_close(const struct listing *l)
{
	os_call6(SYS_close, l->fd, 0, 0, 0, 0, 0);
}

/* The next byte; 0: there is none. */
static char next_byte(struct listing *l)
{
	if (l->at == l->n) {
		const long n = os_call6(SYS_read, l->fd, (long)l->bytes, (long)sizeof(l->bytes), 0, 0, 0);

		l->at = 0;
		l->n = n > 0 ? (size_t)n : 0;
	}
	return l->at < l->n ? l->bytes[l->at++] : 0;
}

/* Reads a number, and the byte behind it. */
static uint64_t next_number(struct listing *l, unsigned base)
{
	uint64_t n = 0;

	for (char c; (c = next_byte(l));) {
		const unsigned digit = c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');

		if (digit >= base || (c > '9' && c < 'a'))
			break;
		n = n * base + digit;
	}
	return n;
}

/* start-end rwxp offset major:minor inode path */
static bool next_mapping(struct listing *l, struct mapping *m)
{
	char c;

	m->start = next_number(l, 16);
	m->end = next_number(l, 16);
	next_byte(l);
	next_byte(l);
	m->code = next_byte(l) == 'x';
	next_byte(l);
	next_byte(l);
	m->offset = next_number(l, 16);
	next_number(l, 16);
	next_number(l, 16);
	m->inode = next_number(l, 10);
	if (l->n && l->bytes[l->at - 1] == '\n')
		return true;
	while ((c = next_byte(l)) && c != '\n')
		;
	return c != 0;
}

/* Bytes of the shared memory segment that is attached at `address`. */
static uint64_t attached_bytes(uintptr_t address)
{
	struct mapping m, first = { 0 };
	struct listing l;

	if (confined || !listing_open(&l)) {
		recorder->incomplete();
		return 0;
	}
	while (next_mapping(&l, &m)) {
		if (m.start == address)
			first = m;
		else if (first.end && m.start == first.end && m.inode == first.inode &&
			 m.offset - first.offset == m.start - first.start)
			first.end = m.end;
	}
	listing_close(&l);
	return first.end - first.start;
}

/* ---- calls ---- */

static void record(const struct patched_call *s, struct call *call, size_t old_size)
{
	/* Plus one, because a frame's pc is a return address, and this is the address of the call. */
	const struct unwind_regs regs = { .pc = patched_call_pc(s) + 1,
					  .sp = patched_call_sp(s),
					  .bp = s->bp };

	recorder->record(call, old_size, &regs);
}

static long make_call(const struct patched_call *s)
{
	return os_call6(s->number, s->arguments[0], s->arguments[1], s->arguments[2], s->arguments[3],
			s->arguments[4], s->arguments[5]);
}

static bool failed(long result)
{
	return result < 0 && result >= -4095;
}

static void record_mmap(const struct patched_call *s, long result)
{
	const long size = s->arguments[1], fd = s->arguments[4];

	record(s, &(struct call){ .op = MST_OP_PAGE_MMAP, .result = (void *)result, .size = (size_t)size },
	       0);
	/* A library's code is patched before any of it runs. */
	if (s->arguments[2] & PROT_EXEC && fd >= 0 && !(s->arguments[3] & MAP_ANONYMOUS) &&
	    (confined || syscall_patch_code((uintptr_t)result, (uintptr_t)(result + size)) & SITE_MISSED))
		recorder->incomplete();
}

static void record_mremap(const struct patched_call *s, long result)
{
	const bool kept = s->arguments[3] & KEEP_OLD;

	record(s,
	       &(struct call){ .op = MST_OP_PAGE_MREMAP,
			       .result = (void *)result,
			       .old = (void *)s->arguments[0],
			       .size = (size_t)s->arguments[2] },
	       kept ? 0 : (size_t)s->arguments[1]);
}

static void record_brk(const struct patched_call *s, uintptr_t now)
{
	const uintptr_t before = state_break, low = now < before ? now : before;
	struct call call = { .op = now < before ? MST_OP_PAGE_BRK_SHRINK : MST_OP_PAGE_BRK_GROW,
			     .result = (void *)low,
			     .size = now < before ? before - now : now - before };

	if (call.size)
		record(s, &call, 0);
	state_break = now;
}

static void record_result(const struct patched_call *s, long result, size_t detached)
{
	void *const first = (void *)s->arguments[0];

	switch (s->number) {
	case SYS_mmap:
		record_mmap(s, result);
		break;
	case SYS_munmap:
		record(s,
		       &(struct call){
			       .op = MST_OP_PAGE_MUNMAP, .result = first, .size = (size_t)s->arguments[1] },
		       0);
		break;
	case SYS_mremap:
		record_mremap(s, result);
		break;
	case SYS_brk:
		record_brk(s, (uintptr_t)result);
		break;
	case SYS_shmat:
		record(s,
		       &(struct call){ .op = MST_OP_PAGE_SHMAT,
				       .result = (void *)result,
				       .size = attached_bytes((uintptr_t)result) },
		       0);
		break;
	case SYS_shmdt:
		record(s, &(struct call){ .op = MST_OP_PAGE_SHMDT, .result = first, .size = detached }, 0);
		break;
	}
}

static bool can_confine(const struct patched_call *s)
{
	const uint32_t what = (uint32_t)s->arguments[0];

	return s->number == SYS_prctl ? what == PR_SET_SECCOMP
				      : what == SECCOMP_SET_MODE_STRICT || what == SECCOMP_SET_MODE_FILTER;
}

/* Makes a call of prctl() or seccomp(). Libraries probe the kernel with invalid arguments, which confines nothing. */
static long make_confining_call(const struct patched_call *s)
{
	const bool confines = can_confine(s);
	long result;

	atomic_fetch_add(&confined, confines);
	result = make_call(s);
	if (failed(result))
		atomic_fetch_sub(&confined, confines);
	return result;
}

static long handle_call(const struct patched_call *s)
{
	size_t detached = 0;
	bool locked;
	long result;

	if (atomic_load_explicit(recorder->off, memory_order_relaxed))
		return make_call(s);
	if (s->number == SYS_seccomp || s->number == SYS_prctl)
		return make_confining_call(s);
	locked = lock();
	if (s->number == SYS_shmdt)
		detached = attached_bytes((uintptr_t)s->arguments[0]);
	result = make_call(s);
	if (!failed(result))
		record_result(s, result, detached);
	if (locked)
		unlock();
	return result;
}

/* ---- the start ---- */

#define CODES 64u

static bool is_own(uintptr_t address)
{
	struct os_range range;

	return recorder->next_own(address, &range) && range.start <= address;
}

/* The first mappings of code at `from` and behind it. */
static unsigned list_codes(uintptr_t from, struct mapping *codes)
{
	struct listing l;
	unsigned n = 0;

	if (!listing_open(&l)) {
		recorder->incomplete();
		return 0;
	}
	while (n < CODES && next_mapping(&l, &codes[n])) {
		const struct mapping *m = &codes[n];

		n += m->start >= from && m->code && m->inode && !is_own(m->start);
	}
	listing_close(&l);
	return n;
}

/* Patches all mapped code, in batches, because patching maps pages and so changes the list. */
static unsigned patch_all(void)
{
	static struct mapping codes[CODES];
	unsigned n, found = 0;
	uintptr_t from = 0;

	do {
		n = list_codes(from, codes);
		for (unsigned i = 0; i < n; i++)
			found |= syscall_patch_code(codes[i].start, codes[i].end);
		from = n ? codes[n - 1].end : 0;
	} while (n == CODES);
	return found;
}

static void record_start(uintptr_t start, uintptr_t end)
{
	if (start < end)
		recorder->record(&(struct call){ .op = MST_OP_PAGE_START,
						 .result = (void *)start,
						 .size = end - start },
				 0, NULL);
}

/* All that is mapped and not the recorder's. */
static bool record_all(void)
{
	struct mapping m;
	struct listing l;

	if (!listing_open(&l))
		return false;
	while (next_mapping(&l, &m) && m.end <= USER_END) {
		struct os_range own;

		while (m.start < m.end && recorder->next_own(m.start, &own) && own.start < m.end) {
			record_start(m.start, own.start);
			m.start = own.end;
		}
		record_start(m.start, m.end);
	}
	listing_close(&l);
	return true;
}

/* The linker's: where this library begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

void msrec_pages_begin(const struct pages_recorder *r)
{
	const unsigned needed = SITE_MMAP | SITE_MUNMAP | SITE_BRK | SITE_MREMAP;
	unsigned found;
	bool locked;

	recorder = r;
	locked = lock();
	trampoline_begin(handle_call);
	syscall_patch_begin(recorder->own);
	state_break = (uintptr_t)os_call6(SYS_brk, 0, 0, 0, 0, 0, 0);
	recorder->own((uintptr_t)__ehdr_start, (uint64_t)(_end - __ehdr_start));
	found = patch_all();
	found |= os_threads() == 1 ? syscall_patch_syscall() : SITE_MISSED;
	if (!record_all() || (found & needed) != needed || found & SITE_MISSED)
		recorder->incomplete();
	if (locked)
		unlock();
}
