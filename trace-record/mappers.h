/* SPDX-License-Identifier: MIT */
/*
 * Which processes map a file. The family's memory is an anonymous file that only recorded processes and their forked children
 * map, and that an exec unmaps: so its mappers are the processes that may still be recorded.
 */
#ifndef TRACE_RECORD_MAPPERS_H
#define TRACE_RECORD_MAPPERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum mapping {
	MAPPED,
	NOT_MAPPED,
	MAPPING_UNKNOWN, /* msrec may not look at the process, or the process is just ending */
};

/* Whether the process maps the file that is open at `fd`. */
enum mapping mapping_of(pid_t pid, int fd);

/*
 * The id, in msrec's namespace, of a process that maps the file, or did before it executed another program. `number` is its id
 * in its own namespace, `outer` that in the /proc it sees, which is msrec's as a rule; 0: unknown. Processes for which
 * `known` returns true are left out in a search. Returns -1 if there is no such process any more.
 */
pid_t mapper_numbered(int fd, pid_t number, pid_t outer, bool (*known)(const void *context, pid_t pid),
		      const void *context);

/* The same for an id in msrec's own namespace, which needs no search. */
pid_t mapper_of_space(int fd, pid_t number);

/* That namespace, as in struct shm_segment; 0: not known. */
uint64_t mapper_own_space(void);

/* A process that maps the file, but the caller and those for which `known` returns true; 0: there is none. */
pid_t mapper_unknown(int fd, bool (*known)(const void *context, pid_t pid), const void *context);

#endif
