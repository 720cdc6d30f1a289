/* SPDX-License-Identifier: MIT */
#include "elf_file.h"

#include <stdlib.h>
#include <unistd.h>

bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, uint64_t size)
{
	return offset <= f->size && size <= f->size - offset &&
	       pread(f->fd, to, size, (off_t)offset) == (ssize_t)size;
}

char *elf_file_part(const struct elf_file *f, uint64_t offset, uint64_t size, uint64_t most)
{
	char *part = size <= most && size <= f->size ? malloc(size + 1) : NULL;

	if (part && !elf_file_read(f, offset, part, size)) {
		free(part);
		return NULL;
	}
	if (part)
		part[size] = 0;
	return part;
}
