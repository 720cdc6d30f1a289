/* SPDX-License-Identifier: MIT */
#include "os.h"

#include <fcntl.h>
#include <sys/stat.h>

void *os_map_shared(const char *path, uint64_t bytes)
{
	const long fd = os_call6(SYS_open, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0, 0);
	long p;

	if (fd < 0)
		return NULL;
	p = os_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	if (p < 0)
		return NULL;
	os_call6(SYS_madvise, p, (long)bytes, MADV_DONTDUMP, 0, 0, 0);
	return (void *)p;
}

uint32_t os_threads(void)
{
	struct stat st;

	/* The task folder has two links and one more a thread. */
	if (os_call6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&st, 0, 0, 0) < 0 ||
	    st.st_nlink < 2)
		return 0;
	return (uint32_t)st.st_nlink - 2;
}

/* The look through "NAME=value\0NAME=value\0". */
struct search {
	const char *name;
	char *value;
	size_t size;
	size_t matched; /* bytes of the name; SIZE_MAX = this is another variable */
	size_t taken;   /* bytes of the value */
	bool in_value;
};

/* Whether the search ends with this byte. */
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
	const long fd = os_call6(SYS_open, (long)"/proc/self/environ", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
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
