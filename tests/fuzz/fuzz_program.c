/* SPDX-License-Identifier: MIT */
/* Promise: judging any bytes as a program file ends, with one sentence as message at most. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "entry_plan.h"
#include "program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *sentence)
{
	if (sentence && (strncmp(sentence, "is ", 3) != 0 && strncmp(sentence, "has ", 4) != 0 &&
			 strncmp(sentence, "uses ", 5) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("program", MFD_CLOEXEC);
	static struct entry_plan plan;
	char *objection, *remark;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	objection = program_objection(fd, false, &remark, &plan);
	check(objection);
	check(remark);
	if ((objection && remark) || (objection && plan.n))
		abort();
	free(objection);
	free(remark);
	close(fd);
	return 0;
}
