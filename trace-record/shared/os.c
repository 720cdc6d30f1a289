/* SPDX-License-Identifier: MIT */
#include "os.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define OWN_RANGES 64u

/* A range is there once its end is; other threads look while one is being added. */
static struct {
	_Atomic uintptr_t start, end;
} own_ranges[OWN_RANGES];
static _Atomic uint32_t n_own_ranges;

void os_own(uintptr_t start, uint64_t bytes)
{
	const uint32_t i = atomic_fetch_add(&n_own_ranges, 1);

	if (i >= OWN_RANGES) {
		atomic_store(&n_own_ranges, OWN_RANGES);
		return;
	}
	atomic_store_explicit(&own_ranges[i].start, start, memory_order_relaxed);
	atomic_store_explicit(&own_ranges[i].end, start + (bytes + 4095) / 4096 * 4096, memory_order_release);
}

/* The linker's: where this library begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

void os_own_library(void)
{
	os_own((uintptr_t)__ehdr_start, (uint64_t)(_end - __ehdr_start));
}

bool os_next_own(uintptr_t address, struct os_range *range)
{
	uint32_t n = atomic_load(&n_own_ranges);

	*range = (struct os_range){ UINTPTR_MAX, UINTPTR_MAX };
	if (n > OWN_RANGES)
		n = OWN_RANGES;
	for (uint32_t i = 0; i < n; i++) {
		const uintptr_t end = atomic_load_explicit(&own_ranges[i].end, memory_order_acquire);
		const uintptr_t start = atomic_load_explicit(&own_ranges[i].start, memory_order_relaxed);

		if (end > address && start < range->start)
			*range = (struct os_range){ start, end };
	}
	return range->start != UINTPTR_MAX;
}

bool os_is_own(uintptr_t address)
{
	struct os_range range;

	return os_next_own(address, &range) && range.start <= address;
}

void *os_map(uint64_t bytes)
{
	const long p = os_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p < 0)
		return NULL;
	os_own((uintptr_t)p, bytes);
	return (void *)p;
}

void *os_map_shared(const char *path, uint64_t offset, uint64_t bytes, int protection)
{
	const long fd = os_open(path, O_RDWR | O_CLOEXEC);
	long p;

	if (fd < 0)
		return NULL;
	p = os_call6(SYS_mmap, 0, (long)bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, (long)offset);
	os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	if (p < 0)
		return NULL;
	os_own((uintptr_t)p, bytes);
	os_call6(SYS_madvise, p, (long)bytes, MADV_DONTDUMP, 0, 0, 0);
	return (void *)p;
}

uint32_t os_read_file(const char *path, char *bytes, uint32_t most)
{
	const long fd = os_open(path, O_RDONLY | O_CLOEXEC);
	uint32_t done = 0;
	long n;

	while (fd >= 0 && (n = os_call6(SYS_read, fd, (long)(bytes + done), most - done, 0, 0, 0)) > 0)
		done += (uint32_t)n;
	if (fd >= 0)
		os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	return done;
}

uint64_t os_address_space(void)
{
	struct rlimit limit; /* of 64 bits each, as on all 64-bit machines */

	return os_call6(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0) < 0 ? UINT64_MAX : limit.rlim_cur;
}

uint64_t os_lock(_Atomic bool *lock)
{
	const uint64_t mask = os_block_signals();

	for (unsigned tries = 1; atomic_exchange_explicit(lock, true, memory_order_acquire); tries++)
		if (tries % 64 == 0)
			os_call6(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		else
			cpu_pause();
	return mask;
}

void os_unlock(_Atomic bool *lock, uint64_t mask)
{
	atomic_store_explicit(lock, false, memory_order_release);
	os_set_signals(mask);
}

/*
 * Whether the first thread has ended before the process, by pthread_exit(): its task stays, as a zombie without memory and
 * so without a program.
 */
static bool first_thread_is_gone(uint32_t pid)
{
	char path[sizeof("/proc/self/task//exe") + OS_DIGITS] = "/proc/self/task/";
	char *end = os_put_number(path + sizeof("/proc/self/task/") - 1, pid);
	struct stat st;

	__builtin_memcpy(end, "/exe", sizeof("/exe"));
	return os_call6(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) == -ENOENT;
}

uint32_t os_threads(void)
{
	const uint32_t pid = os_pid();
	struct stat st;

	/* The task folder has two links and one more a thread. */
	if (os_call6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&st, 0, 0, 0) < 0 ||
	    st.st_nlink < 2)
		return 0;
	return (uint32_t)st.st_nlink - 2 - (st.st_nlink > 3 && os_tid() != pid && first_thread_is_gone(pid));
}

uint32_t os_outer_pid(void)
{
	char digits[16];
	uint32_t pid = 0;
	const long n =
		os_call6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self", (long)digits, sizeof(digits), 0, 0);

	for (long i = 0; i < n && digits[i] >= '0' && digits[i] <= '9'; i++)
		pid = pid * 10 + (uint32_t)(digits[i] - '0');
	return pid;
}

uint64_t os_pid_space(void)
{
	struct stat st;

	if (os_call6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&st, 0, 0, 0) < 0)
		return 0;
	return st.st_ino;
}

/* A search through "NAME=value\0NAME=value\0". */
struct search {
	const char *name;
	char *value;
	size_t size;
	size_t matched; /* bytes of the name; SIZE_MAX = this is another variable */
	size_t taken;   /* bytes of the value */
	bool in_value;
};

/* Takes the next byte. True: the search ends. */
static bool search_byte(struct search *s, char byte)
{
	if (s->in_value) {
		if (s->taken == s->size)
			return true;
		s->value[s->taken++] = byte;
		return byte == 0;
	}
	if (byte == 0) {
		s->matched = 0;
	} else if (s->matched != SIZE_MAX && byte == s->name[s->matched]) {
		s->matched++;
	} else if (s->matched != SIZE_MAX) {
		s->in_value = byte == '=' && !s->name[s->matched];
		s->matched = SIZE_MAX;
	}
	return false;
}

bool os_initial_variable(const char *name, char *value, size_t size)
{
	struct search search = { .name = name, .value = value, .size = size };
	const long fd = os_open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	char bytes[512];
	bool done = false;
	long n;

	while (fd >= 0 && !done && (n = os_call6(SYS_read, fd, (long)bytes, sizeof(bytes), 0, 0, 0)) > 0) {
		for (long i = 0; i < n && !done; i++)
			done = search_byte(&search, bytes[i]);
	}
	if (fd >= 0)
		os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	return done && search.value[search.taken - 1] == 0;
}
