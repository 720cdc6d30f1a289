/* SPDX-License-Identifier: MIT */
#include "family.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"

/* A file-size limit holds for shared memory too; growing past it raises SIGXFSZ. */
static bool may_grow_to(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes;
}

static int map_family(struct family *family, int fd)
{
	const uint64_t bytes = shm_bytes(SHM_SEGMENTS);

	family->fd = fd;
	if (!may_grow_to(bytes)) {
		errno = EFBIG;
		return -1;
	}
	if (fd < 0)
		family->fd = memfd_create("msrec", MFD_CLOEXEC);
	if (family->fd < 0 || ftruncate(family->fd, (off_t)bytes) != 0)
		return -1;
	family->shm = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, family->fd, 0);
	if (family->shm != MAP_FAILED)
		return 0;
	family->shm = NULL;
	return -1;
}

static void copy_patterns(char to[SHM_PATTERNS], const char *patterns)
{
	if (patterns)
		snprintf(to, SHM_PATTERNS, "%s", patterns);
}

int family_create(struct family *family, const struct capture_options *options, int fd)
{
	*family = (struct family){ .fd = -1 };
	if (map_family(family, fd) != 0) {
		const int error_number = errno;

		family_leave(family);
		errno = error_number;
		return -1;
	}
	*family->shm = (struct shm_family){
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.depth = options->depth,
		.use_tsc = clock_tsc_usable(),
		.trace_children = options->trace_children,
		.sample_bytes = options->sample_bytes,
		.libc_freeres = options->libc_freeres,
		.stacks = options->stacks || options->timer_ms,
		.timer_ms = options->timer_ms,
		.maps = options->maps,
		.pages = options->pages,
		.instructions = options->instructions,
		.cxx_freeres = options->cxx_freeres,
		.free_stacks = options->free_stacks,
		.usable = options->usable,
		.scripts = options->scripts,
		.fixed = options->fixed,
		.phase = options->dormant ? SHM_DORMANT : SHM_ON,
	};
	copy_patterns(family->shm->children_skip, options->children_skip);
	copy_patterns(family->shm->children_only, options->children_only);
	family->owner = getpid();
	shm_lock_for_life(&family->shm->collector);
	snprintf(family->path, sizeof(family->path), "/proc/%d/fd/%d", getpid(), family->fd);
	return 0;
}

/* A robust mutex says that its owner is gone only if the owner still maps it. */
void family_leave(struct family *family)
{
	if (family->shm && family->owner == getpid())
		shm_leave(&family->shm->collector);
	if (family->shm)
		munmap(family->shm, shm_bytes(SHM_SEGMENTS));
	if (family->fd >= 0)
		close(family->fd);
	family->shm = NULL;
	family->fd = -1;
}

void family_free_segment(struct family *family, uint32_t i)
{
	struct shm_segment *segment = shm_segment(family->shm, i);
	const off_t start = (off_t)((char *)segment - (char *)family->shm);

	if (fallocate(family->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start,
		      (off_t)SHM_SEGMENT_BYTES) != 0)
		memset(segment, 0, sizeof(*segment));
	atomic_store(&family->shm->states[i], SHM_SEGMENT_FREE);
	atomic_store(&family->shm->full, 0);
}
