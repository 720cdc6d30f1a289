/* SPDX-License-Identifier: MIT */
/*
 * Loaded by python_suites.py: events at chosen allocations of the interpreter, whatever code asks for them. An event is
 * a valloc(3) of a size of its own, and the stack that tracemalloc notes of that moment.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define DOMAIN 35 /* of tracemalloc; its own are 0 */

/* As in the interpreter's pymem.h. */
enum { RAW, MEM, OBJECT, DOMAINS };

struct allocator {
	void *context;
	void *(*malloc)(void *context, size_t size);
	void *(*calloc)(void *context, size_t count, size_t size);
	void *(*realloc)(void *context, void *block, size_t size);
	void (*free)(void *context, void *block);
};

typedef void set_allocator(int domain, struct allocator *allocator);

unsigned python_events_prepare(void);
unsigned python_events(unsigned most, unsigned distance, unsigned seed);
unsigned python_events_left(void);
unsigned python_events_begin(void);
unsigned python_events_end(void);

/* The lock of the interpreter guards all of it. */
static struct allocator plain[DOMAINS];
static int (*track)(unsigned domain, uintptr_t address, size_t size);
static unsigned made, until, span = 1, left = 1, inside;
static uint64_t chance = 1;

static void event(void)
{
	if (inside || made >= until || --left)
		return;
	chance = chance * 6364136223846793005 + 1442695040888963407;
	left = 1 + (unsigned)(chance >> 33) % (2 * span);
	inside = 1;
	made++;
	free(valloc(made));
	if (track(DOMAIN, (uintptr_t)made << 4, made) != 0)
		abort();
	inside = 0;
}

static void *event_malloc(void *context, size_t size)
{
	const struct allocator *to = context;

	event();
	return to->malloc(to->context, size);
}

static void *event_calloc(void *context, size_t count, size_t size)
{
	const struct allocator *to = context;

	event();
	return to->calloc(to->context, count, size);
}

static void *event_realloc(void *context, void *block, size_t size)
{
	const struct allocator *to = context;

	event();
	return to->realloc(to->context, block, size);
}

static void pass_free(void *context, void *block)
{
	const struct allocator *to = context;

	to->free(to->context, block);
}

static void *symbol(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		abort();
	return found;
}

/* Before tracemalloc starts: remembers the allocators, so that tracemalloc traces nothing but events. */
unsigned python_events_prepare(void)
{
	set_allocator *get = (set_allocator *)symbol("PyMem_GetAllocator");

	for (int i = 0; i < DOMAINS; i++)
		get(i, &plain[i]);
	track = (int (*)(unsigned, uintptr_t, size_t))symbol("PyTraceMalloc_Track");
	return 0;
}

unsigned python_events_begin(void)
{
	set_allocator *set = (set_allocator *)symbol("PyMem_SetAllocator");

	/* A caller of the raw domain may lack the lock. */
	set(RAW, &plain[RAW]);
	for (int i = MEM; i < DOMAINS; i++) {
		struct allocator to = { &plain[i], event_malloc, event_calloc, event_realloc, pass_free };

		set(i, &to);
	}
	return 0;
}

/* From here on `most` more events, `distance` allocations apart on average. Returns how many there were so far. */
unsigned python_events(unsigned most, unsigned distance, unsigned seed)
{
	chance += seed;
	span = distance;
	left = 1;
	until = made + most;
	return made;
}

unsigned python_events_left(void)
{
	return until - made;
}

unsigned python_events_end(void)
{
	set_allocator *set = (set_allocator *)symbol("PyMem_SetAllocator");

	for (int i = MEM; i < DOMAINS; i++)
		set(i, &plain[i]);
	return made;
}
