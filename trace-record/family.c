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

/* ---- segments ---- */

/*
 * What a short program has touched of a segment stays in memory for the next one, in so many segments: to give pages back
 * and to touch new ones takes longer than all that msrec does with the program's events.
 */
#define KEPT_SEGMENTS 8u
#define KEPT_RING (64u << 10) /* bytes of the first ring */
#define KEPT_MODULES 64u
#define KEPT_TEXT 16384u
#define KEPT_COMMAND 4096u

static bool is_short(struct shm_segment *segment)
{
	const struct module_table *modules = shm_modules(segment);

	return atomic_load(&segment->rings_used) <= 1 && atomic_load(&segment->rings[0].head) <= KEPT_RING &&
	       atomic_load(&modules->count) <= KEPT_MODULES &&
	       atomic_load(&modules->text_used) <= KEPT_TEXT &&
	       atomic_load(&segment->command_bytes) <= KEPT_COMMAND &&
	       atomic_load(&shm_scripts(segment)->count) == 0;
}

/* Zeroes what the next process reads of such a segment; the rest counts only up to what it says. */
static void renew(struct shm_segment *segment)
{
	struct module_table *modules = shm_modules(segment);

	memset(modules, 0, module_table_bytes(KEPT_MODULES, 0));
	memset(shm_scripts(segment), 0, offsetof(struct script_table, functions));
	memset(segment, 0, offsetof(struct shm_segment, rings[1]));
}

void family_free_segment(struct family *family, uint32_t i)
{
	struct shm_segment *segment = shm_segment(family->shm, i);
	const off_t start = (off_t)((char *)segment - (char *)family->shm);

	if (i < KEPT_SEGMENTS && is_short(segment))
		renew(segment);
	else if (fallocate(family->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start,
			   (off_t)SHM_SEGMENT_BYTES) != 0)
		memset(segment, 0, sizeof(*segment));
	atomic_store(&family->shm->states[i], SHM_SEGMENT_FREE);
	atomic_store(&family->shm->full, 0);
}
