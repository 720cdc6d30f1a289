/* SPDX-License-Identifier: MIT */
#include "byhand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static struct shm_family *family;
static uint32_t n_processes;
static uint64_t stamp;

void byhand_begin(uint32_t processes)
{
	family = mmap(NULL, shm_bytes(processes), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(family, MAP_FAILED);
	n_processes = processes;
	stamp = 0;
}

void byhand_end(void)
{
	munmap(family, shm_bytes(n_processes));
}

struct shm_segment *byhand_segment(uint32_t process)
{
	return shm_segment(family, process);
}

void byhand_process(uint32_t process, uint32_t threads)
{
	struct shm_segment *segment = byhand_segment(process);

	segment->pid = 100 + process;
	for (uint32_t i = 0; i < threads; i++) {
		segment->rings[i].tid = 100 + process + i;
		segment->rings[i].use = 1;
		atomic_store(&segment->rings[i].state, SHM_RING_USED);
	}
	atomic_store(&segment->rings_used, threads);
	atomic_store(&family->states[process], SHM_SEGMENT_LIVE);
}

uint64_t byhand_stamp(void)
{
	return ++stamp;
}

void byhand_write(uint32_t process, uint32_t thread, const uint64_t *words, uint32_t n)
{
	struct shm_segment *segment = byhand_segment(process);
	struct shm_ring *ring = &segment->rings[thread];
	const uint64_t head = atomic_load(&ring->head);

	memcpy(shm_ring_data(segment, thread) + head, words, n * sizeof(*words));
	atomic_store(&ring->head, head + n * sizeof(*words));
}

void byhand_node(uint32_t process, uint32_t thread, uint32_t node, uint32_t parent, uint64_t pc)
{
	const uint64_t value = shm_call_value(node, parent);

	byhand_write(process, thread,
		     (uint64_t[]){ shm_head(SHM_OP_NODE, SHM_STAMPED, value), byhand_stamp(), pc }, 3);
}

int byhand_file(void)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

struct mst_writer *byhand_writer(int fd, bool initial)
{
	const struct mst_file_info info = {
		.pid = 100,
		.machine = 62,
		.page_size = 4096,
		.recorder = "by hand",
		.exe = "/by_hand",
		.cwd = "/",
		.initial_state = initial,
	};
	const struct mst_writer_options options = { .identity = true };
	struct mst_writer *writer;

	assert_int_equal(mst_writer_create(&writer, fd, &info, &options), 0);
	return writer;
}
