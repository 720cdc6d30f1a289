/* SPDX-License-Identifier: MIT */
#include "attachment_plan.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "entry_planner.h"
#include "refusal.h"

/* How often, and how long apart, the C library of a program that has just begun is looked for. */
#define LOOKS 500u
#define LOOK_NS 2000000

static const char *file_name(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

static bool begins_with(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

static bool is_libc(const char *name)
{
	return begins_with(name, "libc.so.6") || (begins_with(name, "libc-2.") && strstr(name, ".so"));
}

static bool is_loader(const char *name)
{
	return begins_with(name, "ld-linux-x86-64.so.2") ||
	       (begins_with(name, "ld-2.") && strstr(name, ".so"));
}

/* The first mapping of the first library with such a name. */
static const struct mapping *find_library(const struct target *t, bool (*is_it)(const char *name))
{
	for (uint32_t i = 0; i < t->n_mappings; i++) {
		if (t->mappings[i].path[0] == '/' && is_it(file_name(&t->mappings[i])))
			return &t->mappings[i];
	}
	return NULL;
}

/* ---- entries ---- */

/* Adds an object's plan, moved to where the process has the object. */
static char *add_entries(struct attachment_plan *plan, const struct target_object *o,
			 const struct entry_plan *more)
{
	struct attach_object *const object = &plan->objects[plan->n_objects];

	if (plan->n_objects == ATTACHED_OBJECTS || more->n > ENTRY_MOST - plan->entries.n)
		return refusal("has several allocators");
	*object = (struct attach_object){ o->start, o->end, plan->entries.n, more->n };
	for (uint32_t i = 0; i < more->n; i++) {
		struct entry *e = &plan->entries.entries[plan->entries.n++];

		*e = more->entries[i];
		e->address += o->base;
		e->usable += e->usable ? o->base : 0;
		for (uint32_t k = 0; k < e->n_fixes; k++)
			e->fixes[k].target += o->base;
	}
	plan->n_objects++;
	return NULL;
}

static char *add_object(struct attachment_plan *plan, const struct target_object *o, bool libc)
{
	struct entry_plan *more = calloc(1, sizeof(*more));
	char *why, *problem;

	if (!more)
		return refusal("cannot be attached to: memory is short");
	why = libc ? entry_planner_plan_libc(&o->f, &o->header, more)
		   : entry_planner_plan(&o->f, &o->header, more);
	problem = why ? refusal("has an allocator, %s, that cannot be recorded: %s", o->path, why)
		      : add_entries(plan, o, more);
	free(why);
	free(more);
	return problem;
}

/* ---- libc ---- */

static bool is_of_malloc(const char *name)
{
	static const char *const names[] = {
		"malloc",
		"free",
		"calloc",
		"realloc",
		"memalign",
		"aligned_alloc",
		"posix_memalign",
		"valloc",
		"pvalloc",
		"malloc_trim",
		"malloc_usable_size",
		"mallinfo",
		"mallinfo2",
		"mallopt",
		"malloc_info",
		"malloc_stats",
		"__libc_malloc",
		"__libc_free",
		"__libc_realloc",
		"__libc_calloc",
		"__libc_memalign",
		"__libc_valloc",
		"__libc_pvalloc",
		"__libc_mallinfo",
		"__libc_mallopt",
		"cfree",
		"__posix_memalign",
		"__malloc_usable_size",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static char *take_libc(struct attachment_plan *plan, struct target *t, const struct target_object *o)
{
	/* mov $15, %rax; syscall: the call that a handler returns to */
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };

	plan->dlopen = target_object_symbol(o, "dlopen", STT_FUNC);
	if (!plan->dlopen)
		plan->dlopen = target_object_symbol(o, "__libc_dlopen_mode", STT_FUNC);
	plan->dlerror = target_object_symbol(o, "dlerror", STT_FUNC);
	plan->functions = (struct host_functions){
		.restorer = target_object_code(o, restorer, sizeof(restorer)),
		.mmap = target_object_symbol(o, "mmap", STT_FUNC),
		.syscall = target_object_symbol(o, "syscall", STT_FUNC),
		.errno_location = target_object_symbol(o, "__errno_location", STT_FUNC),
	};
	plan->libc = (struct code_range){ o->text_start, o->text_end };
	plan->no_heap = glibc_heap_find(&plan->heap, t, o);
	target_object_range(o, is_of_malloc, &plan->malloc.start, &plan->malloc.end);
	if (!plan->dlopen || !plan->functions.restorer || !plan->functions.mmap || !plan->functions.syscall ||
	    !plan->functions.errno_location)
		return refusal("has a C library without what attaching needs: %s", o->path);
	return add_object(plan, o, true);
}

/* ---- other allocators ---- */

/* Whether it is the first mapping of an object that may be a program or library, and none of libc's. */
static bool is_candidate(const struct target *t, uint32_t i)
{
	const struct mapping *m = &t->mappings[i];

	if (m->path[0] != '/' || m->inode == 0 || m->offset != 0 || begins_with(m->path, "/memfd:") ||
	    begins_with(m->path, "/dev/") || is_libc(file_name(m)) || is_loader(file_name(m)))
		return false;
	for (uint32_t k = i; k < t->n_mappings; k++) {
		if (t->mappings[k].inode == m->inode && t->mappings[k].device == m->device &&
		    t->mappings[k].executable)
			return i == 0 || t->mappings[i - 1].inode != m->inode;
	}
	return false;
}

/* Whether a mapping is of the file that the process runs. */
static bool is_program(const struct target *t, const struct mapping *m)
{
	char path[TARGET_PATH];
	struct stat st;

	target_path(t, path, "exe");
	return stat(path, &st) == 0 && st.st_ino == m->inode;
}

/* Adds the program, or the library, that has a malloc of its own. */
static char *add_allocator(struct attachment_plan *plan, struct target *t)
{
	static const char *const names[] = { "malloc", "je_malloc", "_rjem_malloc", "mi_malloc",
					     "tc_malloc" };
	char *problem = NULL;

	for (uint32_t i = 0; i < t->n_mappings && !problem; i++) {
		struct target_object o;
		bool has = false;

		if (!is_candidate(t, i) || !target_object_open(&o, t, &t->mappings[i]))
			continue;
		for (size_t k = 0; k < sizeof(names) / sizeof(*names) && !has; k++)
			has = target_object_function(&o, names[k]);
		if (has) {
			problem = add_object(plan, &o, false);
			plan->allocator = (struct code_range){ o.text_start, o.text_end };
			plan->allocator_is_program =
				o.header.e_type == ET_EXEC || is_program(t, &t->mappings[i]);
		}
		target_object_close(&o);
	}
	return problem;
}

/* ---- the whole ---- */

static bool is_unwinder(const char *name)
{
	return begins_with(name, "libgcc_s.so");
}

static void find_unwinder(struct attachment_plan *plan, struct target *t)
{
	const struct mapping *m = find_library(t, is_unwinder);
	struct target_object o;

	if (m && target_object_open(&o, t, m)) {
		plan->unwinder = (struct code_range){ o.text_start, o.text_end };
		target_object_close(&o);
	}
}

/* A program that has just begun has no C library yet, nor even a loader in the middle of execve(). */
static void await_libc(struct target *t)
{
	const struct timespec pause = { 0, LOOK_NS };

	for (unsigned i = 0; i < LOOKS && !find_library(t, is_libc); i++) {
		nanosleep(&pause, NULL);
		if (target_look(t) != 0)
			return;
	}
}

char *attachment_plan_make(struct attachment_plan *plan, struct target *t)
{
	const struct mapping *libc, *loader;
	struct target_object o;
	char *problem;

	*plan = (struct attachment_plan){ 0 };
	await_libc(t);
	libc = find_library(t, is_libc);
	loader = find_library(t, is_loader);
	if (!libc || !loader)
		return refusal("has not loaded glibc: the recorder is for glibc");
	if (!target_object_open(&o, t, loader))
		return refusal(
			"has a loader (%s) whose file is no longer there: it was upgraded; root can attach all the "
			"same, or start the program anew",
			loader->path);
	plan->loader = (struct code_range){ o.text_start, o.text_end };
	target_object_close(&o);
	if (!target_object_open(&o, t, libc))
		return refusal(
			"has a C library (%s) whose file is no longer there: it was upgraded; root can attach all "
			"the same, or start the program anew",
			libc->path);
	problem = take_libc(plan, t, &o);
	target_object_close(&o);
	find_unwinder(plan, t);
	return problem ? problem : add_allocator(plan, t);
}
