/* SPDX-License-Identifier: MIT */
#include "heap_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>

#include "array.h"

#define WINDOW_LEAST (UINT64_C(1) << 14)
#define WINDOW_MOST (UINT64_C(4) << 20)
#define SPANS 512u /* of a call of process_vm_readv() */

void heap_memory_finish(struct heap_memory *m)
{
	if (m->buffer)
		munmap(m->buffer, m->buffer_bytes);
	free(m->parts);
	free(m->window);
	*m = (struct heap_memory){ .target = m->target };
}

bool heap_memory_reserve(struct heap_memory *m, size_t bytes)
{
	void *p;

	if (bytes <= m->buffer_bytes)
		return true;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	if (m->buffer)
		munmap(m->buffer, m->buffer_bytes);
	m->buffer = p;
	m->buffer_bytes = bytes;
	return true;
}

/* ---- copies ---- */

bool heap_memory_add(struct heap_memory *m, uint64_t start, uint64_t end)
{
	if (end <= start || end > INT64_MAX || (m->n_parts && start < m->parts[m->n_parts - 1].end) ||
	    !array_reserve(&m->parts, m->n_parts, &m->room, sizeof(*m->parts)))
		return false;
	m->parts[m->n_parts++] = (struct memory_part){ .start = start, .end = end };
	return true;
}

uint64_t heap_memory_bytes(const struct heap_memory *m)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < m->n_parts; i++)
		bytes += m->parts[i].end - m->parts[i].start;
	return bytes;
}

void heap_memory_forget_parts(struct heap_memory *m)
{
	m->n_parts = 0;
}

/* Copies up to SPANS parts. */
static bool copy_some(struct heap_memory *m, uint32_t first, uint8_t *to, uint64_t *copied)
{
	struct iovec local = { .iov_base = to }, remote[SPANS];
	unsigned n = 0;

	for (uint32_t i = first; i < m->n_parts && n < SPANS; i++, n++) {
		struct memory_part *p = &m->parts[i];
		const uint64_t bytes = p->end - p->start;

		p->bytes = to + local.iov_len;
		remote[n] = (struct iovec){ (void *)p->start, bytes }; // NOLINT(performance-no-int-to-ptr)
		local.iov_len += bytes;
	}
	*copied = local.iov_len;
	return process_vm_readv(m->target->pid, &local, 1, remote, n, 0) == (ssize_t)local.iov_len;
}

bool heap_memory_copy(struct heap_memory *m)
{
	uint64_t at = 0, copied;

	assert(heap_memory_bytes(m) <= m->buffer_bytes);
	for (uint32_t i = 0; i < m->n_parts; i += SPANS) {
		if (!copy_some(m, i, m->buffer + at, &copied)) {
			heap_memory_forget_parts(m);
			return false;
		}
		at += copied;
	}
	return true;
}

/* ---- reading ---- */

static const struct memory_part *part_at(const struct heap_memory *m, uint64_t address)
{
	uint32_t low = 0, high = m->n_parts;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (m->parts[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low < m->n_parts && m->parts[low].start <= address ? &m->parts[low] : NULL;
}

static bool read_copy(const struct heap_memory *m, uint64_t address, void *to, size_t bytes)
{
	const struct memory_part *p = part_at(m, address);

	if (!p || p->end - address < bytes)
		return false;
	memcpy(to, p->bytes + (address - p->start), bytes);
	return true;
}

/* A word that is in no part, as it is by now: of a block with a mapping of its own. */
static bool read_outside(const struct heap_memory *m, uint64_t address, uint64_t *word)
{
	return m->target && !part_at(m, address) && target_read(m->target, address, word, sizeof(*word));
}

uint64_t heap_memory_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool is_late(struct heap_memory *m)
{
	m->late |= m->until_ns && heap_memory_now() > m->until_ns;
	return m->late;
}

static bool move_window(struct heap_memory *m, uint64_t address)
{
	struct iovec local, remote;
	ssize_t got;

	if (!m->window && !(m->window = malloc(WINDOW_MOST)))
		return false;
	if (is_late(m))
		return false;
	m->window_bytes = m->window_bytes ? m->window_bytes * 2 : WINDOW_LEAST;
	if (m->window_bytes > WINDOW_MOST)
		m->window_bytes = WINDOW_MOST;
	local = (struct iovec){ m->window, m->window_bytes };
	remote = (struct iovec){ (void *)address, m->window_bytes }; // NOLINT(performance-no-int-to-ptr)
	got = process_vm_readv(m->target->pid, &local, 1, &remote, 1, 0);
	m->window_start = address;
	m->window_end = address + (got > 0 ? (uint64_t)got : 0);
	return got > 0;
}

static bool is_in_window(const struct heap_memory *m, uint64_t address, size_t bytes)
{
	return address >= m->window_start && address < m->window_end && m->window_end - address >= bytes;
}

bool heap_memory_walk(struct heap_memory *m, uint64_t address, void *to, size_t bytes)
{
	if (m->n_parts && !m->live)
		return read_copy(m, address, to, bytes);
	if (!is_in_window(m, address, bytes) &&
	    (!move_window(m, address) || !is_in_window(m, address, bytes)))
		return false;
	memcpy(to, m->window + (address - m->window_start), bytes);
	return true;
}

bool heap_memory_read(struct heap_memory *m, uint64_t address, void *to, size_t bytes)
{
	return m->n_parts ? read_copy(m, address, to, bytes) : target_read(m->target, address, to, bytes);
}

uint32_t heap_memory_read_words(struct heap_memory *m, const uint64_t *addresses, uint64_t *words, uint32_t n)
{
	struct iovec local = { words, n * sizeof(*words) }, remote[HEAP_MEMORY_WORDS];
	uint32_t there = 0;
	ssize_t got;

	assert(n <= HEAP_MEMORY_WORDS);
	if (m->n_parts) {
		while (there < n && (read_copy(m, addresses[there], &words[there], sizeof(*words)) ||
				     read_outside(m, addresses[there], &words[there])))
			there++;
		return there;
	}
	for (uint32_t i = 0; i < n; i++)
		remote[i] = (struct iovec){ (void *)addresses[i], sizeof(*words) }; // NOLINT
	got = n ? process_vm_readv(m->target->pid, &local, 1, remote, n, 0) : 0;
	return got > 0 ? (uint32_t)((size_t)got / sizeof(*words)) : 0;
}

void heap_memory_renew(struct heap_memory *m)
{
	m->window_end = m->window_bytes = 0;
}
