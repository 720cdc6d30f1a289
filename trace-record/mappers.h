/* SPDX-License-Identifier: MIT */
/*
 * Which processes map a file. The family's memory is an anonymous file that only a recorded process
 * and its forked children map, and an exec gives up: so its mappers are those who may still record.
 */
#ifndef TRACE_RECORD_MAPPERS_H
#define TRACE_RECORD_MAPPERS_H

#include <stdbool.h>
#include <sys/types.h>

enum mapping {
	MAPPED,
	NOT_MAPPED,
	MAPPING_UNKNOWN, /* the process is not ours to look at, or is just ending */
};

/* Whether the process maps the file that is open at `fd`. */
enum mapping mapping_of(pid_t pid, int fd);

/*
 * The process that maps the file and calls itself `number`, which is another number to us if it lives in
 * a namespace of its own; those that `known` tells of are not looked at for that. `number` itself if
 * nobody may be asked about it, -1 if no such process is there any more.
 */
pid_t mapper_numbered(int fd, pid_t number, bool (*known)(const void *context, pid_t pid),
		      const void *context);

/* Whether any process maps the file but the caller and those that `known` tells of. */
bool has_unknown_mapper(int fd, bool (*known)(const void *context, pid_t pid), const void *context);

#endif
