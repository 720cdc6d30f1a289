/* SPDX-License-Identifier: MIT */
/* A running process as seen from outside: its mappings and its memory. What it says is hostile input. */
#ifndef TRACE_RECORD_TARGET_H
#define TRACE_RECORD_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end, offset, inode;
	dev_t device;
	bool writable, executable;
	char *path; /* "": none */
};

struct target {
	pid_t pid;
	int memory; /* /proc/PID/mem; -1: not open */
	struct mapping *mappings;
	uint32_t n_mappings, room;
};

/* Without a look at mappings. */
void target_init(struct target *target, pid_t pid);
void target_finish(struct target *target);

/* Reads the mappings anew, and will open the memory anew. 0 or -errno; there are none if the process is gone, or may not be looked at. */
int target_look(struct target *target);

/* The mapping around an address; NULL: none. */
const struct mapping *target_mapping(const struct target *target, uint64_t address);

/* The first mapping of a memfd with that name. */
const struct mapping *target_memfd(const struct target *target, const char *name);

/* Both true only if all bytes are transferred. Writing needs a thread that the caller traces. */
bool target_read(struct target *target, uint64_t address, void *to, size_t bytes);
bool target_write(struct target *target, uint64_t address, const void *from, size_t bytes);

/* Reads words from an address on, up to the first page that cannot be read. Returns how many. */
size_t target_read_words(const struct target *target, uint64_t address, uint64_t *to, size_t most);

/* A path below /proc/PID. */
#define TARGET_PATH 96
void target_path(const struct target *target, char path[TARGET_PATH], const char *name);

/* The value of a line of /proc/PID/status, or of its thread's, to be freed; NULL: there is no such line. */
char *target_status(const struct target *target, const char *key);

#endif
