/* SPDX-License-Identifier: MIT */
/* Reads parts of a program's file. The file is hostile input: offsets and sizes are checked against its size. */
#ifndef TRACE_RECORD_ELF_FILE_H
#define TRACE_RECORD_ELF_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define ELF_FILE_TABLE_MOST (256u << 20) /* bytes of symbols, names or code that are looked through */
#define ELF_FILE_SECTIONS_MOST 65536u

struct elf_file {
	int fd;
	uint64_t size;
};

/* Reads `size` bytes; false if they are not all there. */
bool elf_file_read(const struct elf_file *f, uint64_t offset, void *to, uint64_t size);

/* A part of the file, with a NUL behind it, to be freed; NULL if it is longer than `most`, or not there. */
char *elf_file_part(const struct elf_file *f, uint64_t offset, uint64_t size, uint64_t most);

#endif
