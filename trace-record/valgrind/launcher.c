/* SPDX-License-Identifier: MIT */
/*
 * Replaces Valgrind's own launcher: executes the tool beside it. VALGRIND_LAUNCHER names this launcher to the tool, which
 * starts programs that the program executes in the same way.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOOL "msrec-amd64-linux"

/* Whether a program has 32 bits: the tool cannot run it, so it runs unrecorded. */
static int is_narrow(const char *path)
{
	unsigned char start[EI_NIDENT] = { 0 };
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, start, sizeof(start)) : 0;

	if (fd >= 0)
		close(fd);
	return n == sizeof(start) && memcmp(start, ELFMAG, SELFMAG) == 0 && start[EI_CLASS] == ELFCLASS32;
}

int main(int argc, char **argv)
{
	char self[4096], tool[4096 + sizeof(TOOL)];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int program = 1;

	self[n > 0 ? n : 0] = 0;
	snprintf(tool, sizeof(tool), "%.*s/" TOOL, (int)(strrchr(self, '/') ? strrchr(self, '/') - self : 0),
		 self);
	while (program < argc && argv[program][0] == '-')
		program++;
	if (program < argc && strchr(argv[program], '/') && is_narrow(argv[program]))
		execv(argv[program], argv + program);
	else if (setenv("VALGRIND_LAUNCHER", self, 1) == 0)
		execv(tool, argv);
	fprintf(stderr, "msrec: %s: %s\n", tool, strerror(errno));
	return 126;
}
