/* SPDX-License-Identifier: MIT */
/* Writes the shared memory of recorded programs by hand, word by word, for a tracee to drain. Failures end the test. */
#ifndef TESTS_BYHAND_H
#define TESTS_BYHAND_H

#include <stdbool.h>
#include <stdint.h>

#include "mst_writer.h"
#include "shm.h"

/* Makes the memory of `processes` processes; stamps begin at 1. */
void byhand_begin(uint32_t processes);
void byhand_end(void);

struct shm_segment *byhand_segment(uint32_t process);

/* A process with `threads` threads appears. */
void byhand_process(uint32_t process, uint32_t threads);

/* The next stamp. */
uint64_t byhand_stamp(void);

/* Writes words into a thread's ring, which has room for them. */
void byhand_write(uint32_t process, uint32_t thread, const uint64_t *words, uint32_t n);

/* A node of the thread's stacks. */
void byhand_node(uint32_t process, uint32_t thread, uint32_t node, uint32_t parent, uint64_t pc);

/* An empty file, and a trace on one. */
int byhand_file(void);
struct mst_writer *byhand_writer(int fd, bool initial);

#endif
