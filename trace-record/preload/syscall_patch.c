/* SPDX-License-Identifier: MIT */
#include "syscall_patch.h"

#include <fcntl.h>
#include <string.h>

#include "elfsym.h"
#include "os.h"
#include "trampoline.h"

#define WINDOW 65536u

/* mov $number,%eax; syscall */
#define SITE_BYTES 7u
#define MOV_EAX 0xb8u

/* A jump to an address within 2 GiB, which takes the place of the mov. */
#define JUMP 0xe9u
#define JUMP_BYTES 5u

static const struct watched {
	uint16_t number;
	uint8_t bit;
} watched[] = {
	{ SYS_mmap, SITE_MMAP },     { SYS_munmap, SITE_MUNMAP },   { SYS_brk, SITE_BRK },
	{ SYS_mremap, SITE_MREMAP }, { SYS_shmat, SITE_SHMAT },     { SYS_shmdt, SITE_SHMDT },
	{ SYS_prctl, SITE_CONFINE }, { SYS_seccomp, SITE_CONFINE },
};
#define N_WATCHED (sizeof(watched) / sizeof(*watched))

/* ---- memory ---- */

/* Writes to code, which may be written to for that time only, if the kernel doesn't do it for us. */
static bool write_code(uintptr_t at, const uint8_t *bytes, size_t n)
{
	const uintptr_t page = at & ~(PAGE - 1), size = at + n - page;
	const long fd = os_call6(SYS_open, (long)"/proc/self/mem", O_RDWR | O_CLOEXEC, 0, 0, 0, 0);
	long written = fd < 0 ? fd : os_call6(SYS_pwrite64, fd, (long)bytes, (long)n, (long)at, 0, 0);

	if (fd >= 0)
		os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	if (written == (long)n)
		return true;
	if (os_call6(SYS_mprotect, (long)page, (long)size, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0) < 0)
		return false;
	memcpy((void *)at, bytes, n);
	os_call6(SYS_mprotect, (long)page, (long)size, PROT_READ | PROT_EXEC, 0, 0, 0);
	return true;
}

/* ---- pieces of code ---- */

#define PIECE 160u
#define REGIONS 64u

/* The address of syscall_patch_entry, then some of them. */
struct region {
	uintptr_t start;
	uint32_t used, size; /* bytes */
};

/* Room in this library's own code, which is near to other libraries, where all else may be taken. */
#define OWN_ROOM 16384u
extern const uint8_t syscall_patch_room[] __attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
	".balign 4096\n"
	".hidden syscall_patch_room\n"
	"syscall_patch_room:\n"
	"	.fill 16384, 1, 0xcc\n"
	".popsection\n");

static struct region regions[REGIONS];
static uint32_t n_regions;

static bool in_reach(uintptr_t a, uintptr_t b)
{
	const uintptr_t distance = a > b ? a - b : b - a;

	return distance < ((uintptr_t)1 << 31) - 2 * OWN_ROOM;
}

/* A page of code below `at`, as near as there is room. */
static uintptr_t map_near(uintptr_t at)
{
	const uintptr_t step = (uintptr_t)1 << 20;

	for (uintptr_t below = step; below < (uintptr_t)1 << 30 && below < at; below += step) {
		const uintptr_t wanted = (at - below) & ~(PAGE - 1);
		const long got = os_call6(SYS_mmap, (long)wanted, PAGE, PROT_READ | PROT_EXEC,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (got == (long)wanted)
			return wanted;
		if (got > 0) /* a kernel that takes it for a hint */
			os_call6(SYS_munmap, got, PAGE, 0, 0, 0, 0);
	}
	return 0;
}

/* Adds it to the regions; NULL: there is no room. */
static struct region *add_region(uintptr_t start, uint32_t size)
{
	const uint64_t entry = (uintptr_t)syscall_patch_entry;
	struct region *r = &regions[n_regions];

	if (!start || !write_code(start, (const uint8_t *)&entry, sizeof(entry)))
		return NULL;
	*r = (struct region){ start, sizeof(entry), size };
	n_regions++;
	return r;
}

static struct region *region_for(uintptr_t site)
{
	uintptr_t start;

	if (n_regions == 0 && !add_region((uintptr_t)syscall_patch_room, OWN_ROOM))
		return NULL;
	for (struct region *r = regions; r < regions + n_regions; r++) {
		if (in_reach(r->start, site) && r->used + PIECE <= r->size)
			return r;
	}
	start = n_regions < REGIONS ? map_near(site) : 0;
	if (start)
		os_own(start, PAGE);
	return add_region(start, PAGE);
}

struct piece {
	uintptr_t at; /* where it will be */
	uint32_t n;
	uint8_t bytes[PIECE];
};

static void put(struct piece *p, const void *bytes, uint32_t n)
{
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

#define PUT(p, ...) put(p, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* The distance from behind the four bytes that it takes. */
static void put_distance(struct piece *p, uintptr_t to)
{
	const int32_t distance = (int32_t)(to - (p->at + p->n + 4));

	put(p, &distance, sizeof(distance));
}

/*
 * Calls the entry, below what a function may keep under its stack pointer. Where the system call would
 * have returned to stands ENTRY_SITE_AT bytes behind where that returns to.
 */
static void put_call(struct piece *p, uintptr_t region, uint32_t *returns)
{
	PUT(p, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -128(%rsp),%rsp */
	PUT(p, 0xff, 0x15);                   /* call *region(%rip) */
	put_distance(p, region);
	*returns = p->n;
	PUT(p, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea 128(%rsp),%rsp */
}

static void put_jump(struct piece *p, uintptr_t to)
{
	PUT(p, JUMP);
	put_distance(p, to);
}

/* Puts the piece in its place, and the jump to it. */
static bool finish(struct region *r, struct piece *p, uint32_t returns, uint64_t behind_call, uintptr_t site)
{
	struct piece jump = { .at = site };

	memcpy(p->bytes + returns + ENTRY_SITE_AT, &behind_call, sizeof(behind_call));
	put_jump(&jump, p->at);
	r->used += PIECE;
	return write_code(p->at, p->bytes, PIECE) && write_code(site, jump.bytes, JUMP_BYTES);
}

/* ---- places ---- */

/* One with a constant number. */
static bool watch(uintptr_t site, uint16_t number)
{
	struct region *r = region_for(site);
	struct piece p = { 0 };
	uint32_t returns;

	if (!r)
		return false;
	p.at = r->start + r->used;
	PUT(&p, MOV_EAX, (uint8_t)number, (uint8_t)(number >> 8), 0, 0);
	put_call(&p, r->start, &returns);
	put_jump(&p, site + SITE_BYTES);
	return finish(r, &p, returns, site + SITE_BYTES, site);
}

/* What is watched at `code` (with a byte before it), if anything. The byte before may make it another instruction. */
static const struct watched *recognise(const uint8_t *code)
{
	if (code[0] != MOV_EAX || code[3] || code[4] || code[5] != 0x0f || code[6] != 0x05 ||
	    (code[-1] & 0xf0) == 0x40)
		return NULL;
	for (size_t i = 0; i < N_WATCHED; i++) {
		if (watched[i].number == (code[1] | code[2] << 8))
			return &watched[i];
	}
	return NULL;
}

static unsigned watch_window(const uint8_t *code, size_t n, uintptr_t at)
{
	unsigned found = 0;

	for (size_t i = 1; i + SITE_BYTES <= n; i++) {
		const uint8_t *next = memchr(code + i, MOV_EAX, n - i);
		const struct watched *w;

		if (!next || next + SITE_BYTES > code + n)
			break;
		i = (size_t)(next - code);
		w = recognise(next);
		if (w)
			found |= watch(at + i, w->number) ? w->bit : SITE_MISSED;
	}
	return found;
}

unsigned syscall_patch_watch(uintptr_t start, uintptr_t end)
{
	static uint8_t window[WINDOW];
	const long fd = os_call6(SYS_open, (long)"/proc/self/mem", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
	unsigned found = 0;
	long n;

	/* Read so, what is beyond the end of a mapped file is no harm. Windows overlap by a place. */
	for (uintptr_t at = start; fd >= 0 && at < end; at += (uintptr_t)n - SITE_BYTES) {
		const uintptr_t left = end - at;

		n = os_call6(SYS_pread64, fd, (long)window, left < WINDOW ? (long)left : (long)WINDOW,
			     (long)at, 0, 0);
		if (n <= (long)SITE_BYTES)
			break;
		found |= watch_window(window, (size_t)n, at);
		if ((uintptr_t)n == left)
			break;
	}
	if (fd >= 0)
		os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	return fd < 0 ? SITE_MISSED : found;
}

/* The first instructions of it, among which the call is. */
#define SYSCALL_MOST 64u

/* syscall; cmp $-4095,%rax */
static const uint8_t dynamic[] = { 0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff };

/* By its name: its address may be that of a stub in the program, which was linked with it. */
static const uint8_t *find_syscall(void)
{
	const uint8_t *code = elfsym_next("syscall");

	return code ? memmem(code, SYSCALL_MOST, dynamic, sizeof(dynamic)) : NULL;
}

unsigned syscall_patch_watch_syscall(void)
{
	const uint8_t *found = find_syscall();
	const uintptr_t site = (uintptr_t)found;
	struct region *r = found ? region_for(site) : NULL;
	struct piece p = { 0 };
	uint32_t returns, jumps[N_WATCHED];

	if (!r)
		return SITE_MISSED;
	p.at = r->start + r->used;
	for (size_t i = 0; i < N_WATCHED; i++) {
		/* cmp $number,%rax; je */
		PUT(&p, 0x48, 0x3d, (uint8_t)watched[i].number, (uint8_t)(watched[i].number >> 8), 0, 0);
		PUT(&p, 0x74, 0);
		jumps[i] = p.n;
	}
	put(&p, dynamic, sizeof(dynamic));
	put_jump(&p, site + sizeof(dynamic));
	for (size_t i = 0; i < N_WATCHED; i++)
		p.bytes[jumps[i] - 1] = (uint8_t)(p.n - jumps[i]);
	put_call(&p, r->start, &returns);
	put(&p, dynamic + 2, sizeof(dynamic) - 2);
	put_jump(&p, site + sizeof(dynamic));
	return finish(r, &p, returns, site + 2, site) ? 0 : SITE_MISSED;
}
