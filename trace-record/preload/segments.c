/* SPDX-License-Identifier: MIT */
#include "segments.h"

#include <stdlib.h>
#include <string.h>

#include "doorbell.h"

#define OUR_PART 8u /* the recorder takes at most 1/8 of the address space */

#define AWAITS 2000u /* ms that a process waits for the segment of one that is gone */

static uint32_t segments_within(uint64_t address_space)
{
	const uint64_t n = address_space / OUR_PART / SHM_SEGMENT_BYTES;

	return n < SHM_SEGMENTS ? (uint32_t)n : SHM_SEGMENTS;
}

/* Before libc's own constructor there is no environment (.preinit_array runs then). */
static bool find_path(struct process *p)
{
	const char *path = *p->path ? p->path : getenv(SHM_ENV);

	if (path == p->path)
		return true;
	if (!path)
		return os_initial_variable(SHM_ENV, p->path, sizeof(p->path));
	if (strlen(path) >= sizeof(p->path))
		return false;
	strcpy(p->path, path);
	return true;
}

/* The family alone is accessible. */
static struct shm_family *map_family(const char *path, uint32_t segments)
{
	void *const p = os_map_shared(path, 0, shm_bytes(segments), PROT_NONE);

	return p && os_protect(p, SHM_FAMILY_BYTES, PROT_READ | PROT_WRITE) ? p : NULL;
}

bool segments_map(struct process *p)
{
	/* A child inherits the mapping, and may be allowed no system call by now. */
	if (p->family)
		return true;
	if (!find_path(p))
		return false;
	p->segments = cpu_under_valgrind() ? 0 : segments_within(os_address_space());
	p->family = map_family(p->path, p->segments);
	if (!p->family && p->segments > 0) {
		p->segments = 0;
		p->family = map_family(p->path, 0);
	}
	if (p->family && (p->family->magic != SHM_MAGIC || p->family->version != SHM_VERSION))
		p->family = NULL;
	return p->family;
}

static void unmap(struct shm_segment *segment)
{
	os_call6(SYS_munmap, (long)segment, (long)SHM_SEGMENT_BYTES, 0, 0, 0, 0);
}

void segments_unmap(struct process *p)
{
	os_call6(SYS_munmap, (long)p->family, (long)shm_bytes(p->segments), 0, 0, 0, 0);
	p->family = NULL;
}

static void unmap_range(uintptr_t start, uintptr_t end)
{
	if (start < end)
		os_call6(SYS_munmap, (long)start, (long)(end - start), 0, 0, 0, 0);
}

/*
 * The end of the part with owners of rings that threads have locked: libc and the kernel follow their lists of these even
 * behind a thread's last event. A segment apart may be unmapped already.
 */
static uintptr_t owners_end(const struct process *p)
{
	uint32_t used = p->segment && !p->apart ? atomic_load(&p->segment->rings_used) : SHM_RINGS;

	used = used < SHM_RINGS ? used : SHM_RINGS;
	return (uintptr_t)p->segment + SHM_ROUND(offsetof(struct shm_segment, rings[used]));
}

void segments_leave(struct process *p)
{
	const uintptr_t family = (uintptr_t)p->family, segment = (uintptr_t)p->segment;
	const uintptr_t family_end = family + shm_bytes(p->segments);
	const uintptr_t heads_end = owners_end(p);

	if (family && segment && !p->apart) {
		unmap_range(family, segment);
		unmap_range(heads_end, family_end);
	} else if (family) {
		unmap_range(family, family_end);
	}
	if (segment && p->apart)
		unmap_range(heads_end, segment + SHM_SEGMENT_BYTES);
	p->family = NULL;
	p->segment = NULL;
	p->apart = false;
	*p->path = 0;
	memset(p->abandoned, 0, sizeof(p->abandoned));
	atomic_store(&p->rings_open, 0);
}

/* ---- access ---- */

static bool is_abandoned(const struct process *p, uint32_t i)
{
	return p->abandoned[i / 64] >> i % 64 & 1;
}

bool segments_open_ring(struct process *p, uint32_t ring_id)
{
	uint32_t open = atomic_load(&p->rings_open);
	uint8_t *const start = shm_ring_data(p->segment, open);

	if (ring_id < open)
		return true;
	/* Other threads may do the same for some of the rings. */
	if (!os_protect(start, (uint64_t)(shm_ring_data(p->segment, ring_id + 1) - start),
			PROT_READ | PROT_WRITE))
		return false;
	while (open <= ring_id && !atomic_compare_exchange_weak(&p->rings_open, &open, ring_id + 1))
		;
	return true;
}

void segments_abandon(struct process *p)
{
	os_call6(SYS_mmap, (long)p->segment, (long)SHM_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	p->apart = false;
	p->abandoned[p->segment_number / 64] |= (uint64_t)1 << p->segment_number % 64;
}

/* ---- claiming ---- */

/* Makes claimed segment `i`, mapped at `segment`, the process's, with its first ring. */
static bool take(struct process *p, struct shm_segment *segment, uint32_t i)
{
	if (!segment || !os_protect(segment, (uint64_t)(shm_ring_data(segment, 1) - (uint8_t *)segment),
				    PROT_READ | PROT_WRITE)) {
		atomic_store(&p->family->states[i], SHM_SEGMENT_FREE);
		return false;
	}
	p->segment_number = i;
	p->segment = segment;
	p->apart = i >= p->segments;
	atomic_store(&p->rings_open, 1);
	return true;
}

static bool claim_mapped(struct process *p)
{
	for (uint32_t i = 0; i < p->segments; i++) {
		if (!is_abandoned(p, i) && shm_claim(p->family, i))
			return take(p, shm_segment(p->family, i), i);
	}
	return false;
}

static bool claim_unmapped(struct process *p)
{
	for (uint32_t i = p->segments; i < SHM_SEGMENTS; i++) {
		if (shm_claim(p->family, i))
			return take(p,
				    os_map_shared(p->path, SHM_FAMILY_BYTES + i * SHM_SEGMENT_BYTES,
						  SHM_SEGMENT_BYTES, PROT_NONE),
				    i);
	}
	return false;
}

/* Makes the first pages of others' segments readable. */
static void open_others(struct process *p)
{
	for (uint32_t i = 0; i < p->segments; i++) {
		if (shm_segment(p->family, i) != p->segment && !is_abandoned(p, i))
			os_protect(shm_segment(p->family, i), SHM_PAGE, PROT_READ);
	}
}

static bool any_process_gone(struct process *p)
{
	_Static_assert(offsetof(struct shm_segment, rings[1]) <= SHM_PAGE,
		       "the first ring is in the first page");
	for (uint32_t i = 0; i < p->segments; i++) {
		if (shm_owner_gone(&shm_segment(p->family, i)->rings[0].owner))
			return true;
	}
	return false;
}

/* All segments are taken, but some by processes that are gone: msrec frees these segments when it has read them. */
static bool await_segment(struct process *p)
{
	static _Atomic uint32_t never_woken;
	bool claimed = false;

	if (atomic_load(&p->family->full))
		return false;
	open_others(p);
	for (unsigned i = 0; !claimed && !atomic_load(&p->family->full) && any_process_gone(p); i++) {
		if (shm_owner_gone(&p->family->collector))
			break;
		doorbell_ring(p->family);
		os_wait(&never_woken, 0, 1);
		claimed = claim_mapped(p);
		if (!claimed && i == AWAITS)
			atomic_store(&p->family->full, 1);
	}
	return claimed;
}

/*
 * Of the parent's segment the heads of rings stay readable: a signal handler may have forked between a thread's look at
 * where its ring is and its look at the ring's owner (thread_is()).
 */
static void close_parents(struct shm_segment *segment)
{
	const uint64_t heads = SHM_ROUND(sizeof(*segment));

	os_protect(segment, heads, PROT_READ);
	os_protect((uint8_t *)segment + heads, SHM_SEGMENT_BYTES - heads, PROT_NONE);
}

struct shm_segment *segments_parents(const struct process *p)
{
	return p->apart ? NULL : p->segment;
}

bool segments_claim(struct process *p)
{
	if (p->apart)
		unmap(p->segment);
	return claim_mapped(p) || claim_unmapped(p) || await_segment(p);
}

void segments_close(struct process *p, struct shm_segment *parents, uint32_t number)
{
	/* The parent may be gone, and this its segment. */
	if (parents != p->segment && !is_abandoned(p, number))
		close_parents(parents);
}

/* ---- giving back ---- */

void segments_leave_room(struct process *p, uint64_t address_space)
{
	const uint32_t n = segments_within(address_space), mapped = p->segments;

	/* A vfork child has its parent's memory, and limits of its own. */
	if (mapped <= n || p->pid != os_pid())
		return;
	/* Before they go: another thread may fork. */
	p->apart |= p->segment_number >= n;
	p->segments = n;
	for (uint32_t i = n; i < mapped; i++) {
		if (i != p->segment_number)
			unmap(shm_segment(p->family, i));
	}
}
