/* SPDX-License-Identifier: MIT */
#include "process_begin.h"

#include <sys/auxv.h>

#include "child_filter.h"
#include "doorbell.h"
#include "elfsym.h"
#include "entries.h"
#include "frametables.h"
#include "modules.h"
#include "next_malloc.h"
#include "scripts.h"
#include "segments.h"
#include "skips.h"
#include "thread_lookup.h"

#define RING_WRAP (64u << 10)

static _Atomic uint32_t setting_up; /* pid of the process that is in process_begin(); 0: none */

/* ---- threads left by a fork ---- */

void process_place_thread(struct process *p, struct thread *t)
{
	struct producer *r = &t->out;

	r->ring = &p->segment->rings[t->ring_id];
	r->data = shm_ring_data(p->segment, t->ring_id);
	r->size = shm_ring_bytes(t->ring_id);
	r->wrap = r->size / 4 < RING_WRAP ? r->size / 4 : RING_WRAP;
	RECORDER_ASSERT(r->size && (r->size & (r->size - 1)) == 0 && (r->wrap & (r->wrap - 1)) == 0);
}

/*
 * A signal handler has forked inside an event. When the handler returns, the child goes on with that event, into the ring
 * of its parent. So the segment becomes private memory, and the state is given to no other thread.
 */
static void leave_event(struct process *p, uint32_t ring_id)
{
	p->threads[ring_id] = NULL;
	segments_abandon(p);
}

/*
 * Keeps what the child needs of the thread that forks. Returns the number of the fork. The parent's mutexes are none of the
 * child's: else it would write to them when it locks its own.
 */
static uint32_t leave_thread(struct process *p, struct thread *t)
{
	if (LIBC_FORKS_LIST && t->locked)
		t->locked->list.next = &t->locked->list;
	while (t->inside == EMITTING) {
		leave_event(p, t->ring_id);
		if (!t->nested)
			break;
		t = t->nested;
	}
	p->forks.null_frees = t->fork.null_frees;
	p->forks.top = t->extras.top;
	return t->fork.current;
}

/* In the child of a fork, with its parent's segment: takes all states from their threads. Returns the number of the fork. */
static uint32_t forget_threads(struct process *p)
{
	uint32_t fork = 0;

	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		struct thread *t = p->threads[i];

		if (t && atomic_load(&t->tp) == thread_pointer())
			fork = leave_thread(p, t);
		if (t) {
			atomic_store(&t->tp, 0);
			t->extras.timer = 0;
			counter_forget(&t->extras.counter);
		}
	}
	return fork;
}

/* The states that the parent, or an earlier recording, had, for the threads that will have these ring ids. */
static void place_threads(struct process *p)
{
	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		if (p->threads[i])
			process_place_thread(p, p->threads[i]);
	}
}

/* ---- the process ---- */

static void take_options(struct process *p)
{
	const struct shm_family *family = p->family;

	p->options = (struct process_options){
		.depth = family->depth,
		.use_tsc = family->use_tsc,
		.extras = (family->stacks ? EXTRA_DEPTH : 0) | (family->instructions ? EXTRA_COUNT : 0),
		.free_stacks = family->free_stacks,
		.usable = family->usable,
		.maps = family->maps,
		.pages = family->pages,
		/* A call that unmaps the pages of a Python frame has its stack taken afterwards. */
		.scripts = family->scripts && !family->pages,
	};
	p->options.plain =
		!p->options.free_stacks && !p->options.usable && !p->options.extras && !family->sample_bytes;
	RECORDER_ASSERT(p->options.depth > 0 && p->options.depth <= SHM_DEPTH_MAX);
}

/* No stack goes through an allocator that was preloaded or linked, but a reader wants to know of it. */
static void enter_allocator(void)
{
	struct cfi_section unused;

	if (next.malloc && !elfsym_are_together((void *)next.malloc, (void *)next.exit_now))
		modules_find((uintptr_t)next.malloc, &unused);
}

/* `parents`: of a forked child; NULL: there is none, or it cannot be read. */
static void begin_modules(struct process *p, struct shm_segment *parents)
{
	static bool begun;
	struct module_table *table = shm_modules(p->segment);

	table->capacity = SHM_MODULES;
	table->text_capacity = SHM_MODULE_TEXT;
	if (begun) {
		frametables_after_fork();
		scripts_after_fork(shm_scripts(p->segment), p->options.scripts);
		/* Functions of scripts are entered anew, as their code is met. */
		modules_after_fork(table, parents && !scripts_are_present() ? shm_modules(parents) : NULL);
	} else {
		scripts_begin(shm_scripts(p->segment), p->options.scripts);
		modules_init(table, next.find_object, stamp_now);
	}
	begun = true;
	enter_allocator();
}

static void report_skip(struct shm_family *family, enum shm_skip_reason reason)
{
	char path[SHM_SKIP_PATH];
	/* Valgrind 3.24 answers itself, over what the kernel has written, which may be longer. */
	const long n = os_read_link("/proc/self/exe", path, SHM_SKIP_PATH - 1);

	path[n > 0 && n < SHM_SKIP_PATH ? n : 0] = 0;
	skips_report(family, reason, path);
}

/* Memcheck would read the recorder's memory for pointers, and warn of its system calls. */
static bool leave_to_valgrind(struct shm_family *family)
{
	if (!cpu_under_valgrind())
		return false;
	report_skip(family, SHM_SKIP_VALGRIND);
	return true;
}

/* The program is not to be recorded: no memory of the family stays, because msrec would wait for the process. */
static bool leave_out(struct process *p)
{
	const enum child_fate fate = child_filter_judge(
		p->family, (const char *)getauxval(AT_EXECFN)); // NOLINT(performance-no-int-to-ptr)

	atomic_store(&process_skipped, fate == CHILD_SKIPPED);
	if (fate != CHILD_RECORDED)
		segments_unmap(p);
	return fate != CHILD_RECORDED;
}

/* Gives this process a segment; `parent` is the one inherited from before a fork. */
static bool open_process(struct process *p, uint32_t parent)
{
	const bool forked = parent != SHM_NO_SEGMENT;
	const uint32_t fork = forked ? forget_threads(p) : 0;
	struct shm_segment *const parents = forked ? segments_parents(p) : NULL;
	const uint32_t phase = forked ? atomic_load(&p->segment->phase) : SHM_UNSET;
	struct shm_segment *segment;

	process_unset_phase();
	if (!segments_map(p) || leave_to_valgrind(p->family) || (!forked && leave_out(p)) ||
	    (p->family->sample_bytes && !sample_begin(p->family->sample_bytes)))
		return false;
	if (!segments_claim(p)) {
		atomic_fetch_add(&p->family->unrecorded, 1);
		return false;
	}
	segment = p->segment;
	p->pid = os_pid();
	take_options(p);
	segment->pid = p->pid;
	segment->outer_pid = os_outer_pid();
	segment->pid_space = os_pid_space();
	segment->parent = parent;
	segment->parent_fork = fork;
	atomic_store(&segment->phase, phase ? phase : atomic_load(&p->family->phase));
	place_threads(p);
	p->forks.stale_locks |= forked && (p->forks.threaded || p->threaded);
	atomic_store(&p->many_rings, false);
	atomic_store(&p->full_at, 0);
	atomic_store(&p->threaded, false);
	atomic_store(&p->forks.forking, 0);
	segment->start = stamp_now();
	begin_modules(p, parents != p->segment ? parents : NULL);
	if (parents)
		segments_close(p, parents, parent);
	if (!forked && p->family->trace_children)
		atomic_store(&segment->command_bytes,
			     os_read_file("/proc/self/cmdline", shm_command(segment), SHM_COMMAND_BYTES));
	segment->patched = entries_patch(p->family);
	atomic_store(&p->family->states[p->segment_number], SHM_SEGMENT_LIVE);
	atomic_store(&process_phase, &segment->phase);
	doorbell_ring(p->family);
	return true;
}

/* By that memory a child of any fork, also of one that libc knows nothing of, learns that it is one. */
static bool map_wiped(struct process *p)
{
	if (!process_wiped)
		process_wiped = os_map_wiped_on_fork();
	if (!process_wiped && segments_map(p)) {
		report_skip(p->family, SHM_SKIP_WIPING);
		segments_unmap(p);
	}
	return process_wiped;
}

static bool set_up_process(struct process *p, uint32_t pid)
{
	uint32_t parent = SHM_NO_SEGMENT;

	if (!map_wiped(p))
		return false;
	if (p->segment && p->pid != pid)
		parent = p->segment_number;
	if (!open_process(p, parent))
		return false;
	atomic_store_explicit(&process_wiped->process, p, memory_order_release);
	return true;
}

struct process *process_begin(void)
{
	const uint32_t pid = os_pid();
	uint32_t at_it = atomic_load(&setting_up);

	/* The pid of another process is the parent's: the thread that was setting up stayed there. */
	if (at_it == pid || !atomic_compare_exchange_strong(&setting_up, &at_it, pid))
		return NULL;
	/* Another thread may have done it in the meantime. */
	if (!process_now() && !set_up_process(&the_process, pid))
		atomic_store(&process_off, true);
	atomic_store(&setting_up, 0);
	return process_now();
}

/* ---- another recording of the same process ---- */

bool process_is_recorded(void)
{
	const struct process *p = process_now();

	return p && !atomic_load(&process_off) && !shm_owner_gone(&p->family->collector) &&
	       !atomic_load(&p->segment->refused);
}

void process_forget(void)
{
	struct process *p = &the_process;

	atomic_store(&process_off, true);
	process_unset_phase();
	if (process_wiped)
		atomic_store(&process_wiped->process, NULL);
	for (uint32_t i = 0; i < SHM_RINGS; i++) {
		if (p->threads[i])
			atomic_store(&p->threads[i]->tp, 0);
	}
	segments_leave(p);
	p->forks = (struct process_forks){ 0 };
	sample_forget();
	scripts_forget();
	atomic_store(&process_skipped, false);
}

bool process_map_family(const char *path)
{
	struct process *p = &the_process;
	size_t n = 0;

	while (path[n] && n < sizeof(p->path) - 1)
		n++;
	__builtin_memcpy(p->path, path, n);
	p->path[n] = 0;
	return !path[n] && segments_map(p);
}
