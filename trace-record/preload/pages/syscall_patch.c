/* SPDX-License-Identifier: MIT */
#include "syscall_patch.h"

#include <fcntl.h>
#include <string.h>

#include "code_memory.h"
#include "elfsym.h"
#include "os.h"
#include "patch_code.h"
#include "recorder_assert.h"
#include "trampoline.h"

#define WINDOW 65536u /* bytes of code that are searched at a time */

/* The patched calls: their numbers, and their bits in the same order. */
static const uint16_t numbers[] = {
	SYS_mmap, SYS_munmap, SYS_brk, SYS_mremap, SYS_shmat, SYS_shmdt, SYS_prctl, SYS_seccomp,
};
static const uint8_t bits[] = {
	SITE_MMAP, SITE_MUNMAP, SITE_BRK, SITE_MREMAP, SITE_SHMAT, SITE_SHMDT, SITE_CONFINE, SITE_CONFINE,
};
#define N_CALLS (sizeof(numbers) / sizeof(*numbers))

_Static_assert(sizeof(bits) == N_CALLS, "a bit for each number");

static void (*note_own)(uintptr_t start, uint64_t bytes);

void syscall_patch_begin(void (*own)(uintptr_t start, uint64_t bytes))
{
	note_own = own;
}

/* ---- regions ---- */

#define REGIONS 64u

/* The address of the trampoline, then pieces of code. */
struct region {
	uintptr_t start;
	uint32_t used, size; /* bytes */
};

static struct region regions[REGIONS];
static uint32_t n_regions;

/* NULL: `start` is 0, or cannot be written to. */
static struct region *add_region(uintptr_t start, uint32_t size)
{
	const uint64_t target = (uintptr_t)trampoline;
	struct region *r = &regions[n_regions];

	if (!start || !code_write(start, (const uint8_t *)&target, sizeof(target)))
		return NULL;
	RECORDER_ASSERT(n_regions < REGIONS);
	*r = (struct region){ start, sizeof(target), size };
	n_regions++;
	return r;
}

static struct region *region_for(uintptr_t site)
{
	uintptr_t start;

	if (n_regions == 0 && !add_region((uintptr_t)patch_room, PATCH_ROOM))
		return NULL;
	for (struct region *r = regions; r < regions + n_regions; r++) {
		if (patch_in_reach(r->start, site) && r->used + PATCH_PIECE <= r->size)
			return r;
	}
	start = n_regions < REGIONS ? code_map_near(site, site, PAGE) : 0;
	if (start)
		note_own(start, PAGE);
	return add_region(start, PAGE);
}

/* Writes the piece to its region, then the jump to it. */
static bool install(struct region *r, const struct piece *p, uintptr_t site)
{
	struct piece jump = { .at = site };

	RECORDER_ASSERT(p->at == r->start + r->used && r->used + PATCH_PIECE <= r->size);
	patch_jump(&jump, p->at);
	RECORDER_ASSERT(jump.n == PATCH_JUMP_BYTES);
	r->used += PATCH_PIECE;
	return code_write(p->at, p->bytes, PATCH_PIECE) && code_write(site, jump.bytes, PATCH_JUMP_BYTES);
}

/* ---- sites ---- */

static bool patch_site(uintptr_t site, uint16_t number)
{
	struct region *r = region_for(site);
	struct piece p = { 0 };

	if (!r)
		return false;
	p.at = r->start + r->used;
	patch_constant(&p, r->start, site, number);
	return install(r, &p, site);
}

/* The index of the call that is made at `code`, if it is one of ours; else N_CALLS. */
static size_t find_call(const uint8_t *code)
{
	const int number = patch_recognise(code);
	size_t i = 0;

	while (i < N_CALLS && numbers[i] != number)
		i++;
	return i;
}

/* The first byte is only looked at as the one before a site. */
static unsigned patch_window(const uint8_t *code, size_t n, uintptr_t at)
{
	unsigned found = 0;

	for (size_t i = 1; i + PATCH_SITE_BYTES <= n; i++) {
		const uint8_t *site = memchr(code + i, PATCH_SITE_FIRST, n - i);
		size_t call;

		if (!site || site + PATCH_SITE_BYTES > code + n)
			break;
		i = (size_t)(site - code);
		call = find_call(site);
		if (call < N_CALLS)
			found |= patch_site(at + i, numbers[call]) ? bits[call] : SITE_MISSED;
	}
	return found;
}

unsigned syscall_patch_code(uintptr_t start, uintptr_t end)
{
	static uint8_t window[WINDOW];
	const long fd = os_open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	unsigned found = 0;
	long n;

	/* A read from this file stops, without a fault, at the end of a mapped file. Windows overlap by a site. */
	for (uintptr_t at = start; fd >= 0 && at < end; at += (uintptr_t)n - PATCH_SITE_BYTES) {
		const uintptr_t left = end - at;

		n = os_call6(SYS_pread64, fd, (long)window, left < WINDOW ? (long)left : (long)WINDOW,
			     (long)at, 0, 0);
		if (n <= (long)PATCH_SITE_BYTES)
			break;
		found |= patch_window(window, (size_t)n, at);
		if ((uintptr_t)n == left)
			break;
	}
	if (fd >= 0)
		os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	return fd < 0 ? SITE_MISSED : found;
}

/* The function is found by its name: its address may be that of a stub in the program, which was linked with it. */
unsigned syscall_patch_syscall(void)
{
	const uint8_t *code = elfsym_next("syscall"), *found = code ? patch_find_syscall(code) : NULL;
	const uintptr_t site = (uintptr_t)found;
	struct region *r = found ? region_for(site) : NULL;
	struct piece p = { 0 };

	if (!r)
		return SITE_MISSED;
	p.at = r->start + r->used;
	patch_syscall(&p, r->start, site, numbers, N_CALLS);
	return install(r, &p, site) ? 0 : SITE_MISSED;
}
