/* SPDX-License-Identifier: MIT */
/*
 * mmap, mremap and munmap as a program calls them: anonymous, of a file to read and to write, larger and
 * smaller, in place and elsewhere, and all of them failing; and malloc's own mappings, which no call of the program made.
 *
 * Known answer: the largest sum of what was mapped and not yet unmapped is 8192000; 5 mmaps (2 fail),
 * 3 mremaps (1 fails), 4 munmaps (1 fails).
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define NO_PLACE ((void *)1)

static void map_anonymous(void)
{
	void *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p = mremap(p, 2 * PAGE, PAGE, MREMAP_MAYMOVE);
	p = mremap(p, PAGE, 2000 * PAGE, MREMAP_MAYMOVE);
	munmap(p, 2000 * PAGE);
}

static void map_file(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY);
	void *read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	void *writable = mmap64(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	munmap(read_only, PAGE);
	munmap(writable, 3 * PAGE);
	close(fd);
}

static int fail(void)
{
	return mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0) != MAP_FAILED ||
	       mmap(NULL, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, -1, 0) != MAP_FAILED ||
	       munmap(NO_PLACE, PAGE) == 0 ||
	       mremap((void *)(uintptr_t)PAGE, PAGE, 2 * PAGE, 0) != MAP_FAILED;
}

int main(void)
{
	map_anonymous();
	map_file();
	free(malloc(10));
	free(realloc(malloc(1 << 20), 2 << 20));
	return fail();
}
