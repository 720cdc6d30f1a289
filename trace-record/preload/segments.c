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
	const char *path = getenv(SHM_ENV);

	if (!path)
		return os_initial_variable(SHM_ENV, p->path, sizeof(p->path));
	if (strlen(path) >= sizeof(p->path))
		return false;
	strcpy(p->path, path);
	return true;
}

bool segments_map(struct process *p)
{
	/* A child inherits the mapping, and may be allowed no system call by now. */
	if (p->family)
		return true;
	if (!find_path(p))
		return false;
	p->segments = segments_within(os_address_space());
	p->family = os_map_shared(p->path, 0, shm_bytes(p->segments));
	if (!p->family && p->segments > 0) {
		p->segments = 0;
		p->family = os_map_shared(p->path, 0, shm_bytes(0));
	}
	if (p->family && (p->family->magic != SHM_MAGIC || p->family->version != SHM_VERSION))
		p->family = NULL;
	return p->family;
}

static void unmap(struct shm_segment *segment)
{
	os_call6(SYS_munmap, (long)segment, (long)SHM_SEGMENT_BYTES, 0, 0, 0, 0);
}

/* ---- claiming ---- */

static bool claim_mapped(struct process *p)
{
	const uint32_t i = shm_claim_segment(p->family, p->segments);

	if (i == SHM_NO_SEGMENT)
		return false;
	p->segment_number = i;
	p->segment = shm_segment(p->family, i);
	p->apart = false;
	return true;
}

static bool claim_unmapped(struct process *p)
{
	for (uint32_t i = p->segments; i < SHM_SEGMENTS; i++) {
		struct shm_segment *const segment =
			os_map_shared(p->path, SHM_FAMILY_BYTES + i * SHM_SEGMENT_BYTES, SHM_SEGMENT_BYTES);

		if (!segment)
			return false;
		if (shm_claim(p->family, segment, i)) {
			p->segment_number = i;
			p->segment = segment;
			p->apart = true;
			return true;
		}
		unmap(segment);
	}
	return false;
}

static bool any_process_gone(struct process *p)
{
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

bool segments_claim(struct process *p)
{
	if (p->apart)
		unmap(p->segment);
	return claim_mapped(p) || claim_unmapped(p) || await_segment(p);
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
