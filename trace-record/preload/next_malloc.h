/* SPDX-License-Identifier: MIT */
/*
 * The functions behind the replaced ones: those that the program would call without the recorder, looked up once by
 * dlsym(RTLD_NEXT). The look-up itself may allocate; until it is done a small arena serves requests. Its blocks are
 * recognised for ever and never given back.
 */
#ifndef PRELOAD_NEXT_MALLOC_H
#define PRELOAD_NEXT_MALLOC_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "export.h"
#include "modules.h"

struct rlimit;

typedef int next_spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
		       char *const[], char *const[]);

/* A flat table, filled once by next_resolve(). Not NULL, but where noted. */
struct next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	bool reallocarray_is_libcs;
	void (*free)(void *);
	size_t (*malloc_usable_size)(void *);               /* may be NULL */
	void (*free_sized)(void *, size_t);                 /* may be NULL: use free */
	void (*free_aligned_sized)(void *, size_t, size_t); /* may be NULL: use free */
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t); /* glibc's alone */
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*munmap)(void *, size_t);
	int (*mlockall)(int);
	int (*setrlimit)(int, const struct rlimit *);
	int (*prlimit)(pid_t, int, const struct rlimit *, struct rlimit *);
	int (*dlclose)(void *);
	pid_t (*fork)(void);
	pid_t (*fork_only)(void); /* _Fork, may be NULL */
	int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void),
			       void *);                                        /* glibc's __register_atfork */
	int (*pthread_atfork)(void (*)(void), void (*)(void), void (*)(void)); /* musl's alone */
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int); /* may be NULL */
	next_spawn *posix_spawn, *posix_spawnp;
	int (*prctl)(int, ...);
	int (*setname)(uintptr_t, const char *); /* pthread_setname_np, may be NULL */
	void (*exit)(int);
	void (*exit_now)(int) __attribute__((noreturn)); /* _exit */
	modules_find_function *find_object;              /* _dl_find_object, may be NULL */
};

extern HIDDEN struct next next;

/* Whether `next` is complete. */
extern HIDDEN bool next_ready;

/*
 * Set during the libraries' clean-up at the end, whose frees are recorded but not made: the memory goes with the process,
 * and freeing can make the allocator merge millions of free blocks.
 */
extern HIDDEN bool next_ending;

/* Looks the functions up. False inside the look-up itself: use the arena. */
bool next_resolve(void);

/* Zeroed memory of the arena, aligned to `align` (a power of two), or NULL when the arena is used up. */
void *next_arena_alloc(size_t size, size_t align);
#define NEXT_ARENA_BYTES (64u << 10)
extern HIDDEN char next_arena[NEXT_ARENA_BYTES];

static inline bool next_arena_owns(const void *p)
{
	return (uintptr_t)p - (uintptr_t)next_arena < NEXT_ARENA_BYTES;
}

/* Bytes that may be read from `p`, a block of the arena. */
size_t next_arena_readable(const void *p);

#endif
