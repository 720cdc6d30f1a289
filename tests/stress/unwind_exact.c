/* SPDX-License-Identifier: MIT */
/*
 * Compares the unwinder with libgcc's, which shares no code with it, at every instruction of programs that treat
 * the stack badly. Optional arguments: --dl-iterate-phdr, as with older loaders; --emulated, where handlers take long, for
 * fewer signals and frames; plug-ins built from unwind_plugin.c. Exit 0: every captured stack was equal.
 */

#include "modules.h"
#include "unwind.h"
#ifdef __x86_64__
#include "machine_x86_64.h"
#else
#include "machine_aarch64.h"
#endif

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#define FRAMED NOINLINE
#else
#define NOINLINE __attribute__((noinline, noclone))
#define FRAMED __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
#endif
#define FRAMES_MAX 4096

/* libgcc's interface, declared here because its header has the name of the recorder's. */
struct _Unwind_Context;
typedef int trace_function(struct _Unwind_Context *, void *);
int _Unwind_Backtrace(trace_function *, void *);
uintptr_t _Unwind_GetIPInfo(struct _Unwind_Context *, int *);

struct reference {
	uintptr_t pc[FRAMES_MAX + 16];  /* as unwind_node_pc(), innermost first */
	uintptr_t raw[FRAMES_MAX + 16]; /* with room for the frames of the test itself */
	unsigned count;
};

/* A frame as a reader of all emitted nodes knows it. */
struct mirrored {
	uintptr_t pc;
	uint32_t parent;
};

/* The state of a thread. */
struct observer {
	struct unwind_stack *stack;
	struct reference reference;
	struct mirrored mirror[UNWIND_CAPACITY_MAX * UNWIND_CONTEXTS_PER_NODE];
	uintptr_t frames[FRAMES_MAX]; /* the last capture, innermost first */
	unsigned depth;
	volatile sig_atomic_t busy;
};

static __thread struct observer *observer;
static __thread unsigned capacity = 4 * FRAMES_MAX;
static __thread bool partial; /* libgcc stops early: compare the frames that it finds */
static _Atomic unsigned long events, failures, nested;
static volatile unsigned sink;
static long signals_apart = 300; /* microseconds */
static unsigned deepest = 100000;

static uint64_t stamp(void)
{
	static _Atomic uint64_t now;

	return ++now;
}

static int take_frame(struct _Unwind_Context *context, void *data)
{
	struct reference *reference = data;
	int exact = 0;
	uintptr_t pc = _Unwind_GetIPInfo(context, &exact);

	if (reference->count < FRAMES_MAX + 16) {
		reference->raw[reference->count] = pc;
		reference->pc[reference->count++] = pc - 1;
	}
	return 0;
}

static size_t observer_bytes(void)
{
	return (sizeof(struct observer) + 4095) / 4096 * 4096;
}

static struct observer *observe(void)
{
	const size_t bytes = unwind_stack_bytes(capacity);

	observer = mmap(NULL, observer_bytes() + bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	observer->stack = unwind_stack_init((char *)observer + observer_bytes(), capacity, capacity / 4);
	return observer;
}

static void forget(void)
{
	munmap(observer, observer_bytes() + unwind_stack_bytes(capacity));
	observer = NULL;
}

static void report(const struct observer *o, unsigned expected, unsigned first, unsigned bad)
{
	if (atomic_fetch_add(&failures, 1) > 3)
		return;
	fprintf(stderr, "event %lu: frame %u differs, %u frames, %u expected\n", events, bad, o->depth,
		expected);
	for (unsigned i = bad > 3 ? bad - 3 : 0; i < bad + 4; i++)
		fprintf(stderr, "  %3u %#14lx %#14lx\n", i, i < o->depth ? o->frames[i] : 0,
			i < expected ? o->reference.pc[first + i] : 0);
}

/* Mirrors the new contexts, as msrec does, and lists the frames of the captured node. */
static void follow(struct observer *o, uint32_t node)
{
	struct unwind_stack *stack = o->stack;

	uint32_t context = unwind_context(stack, node);

	for (; stack->emitted < stack->n_contexts; stack->emitted++) {
		const struct unwind_context *new = &stack->contexts[stack->emitted];

		o->mirror[stack->emitted] = (struct mirrored){ unwind_frame_pc(new->pc),
							       new->parent == UNWIND_CUT ? 0 : new->parent };
	}
	for (o->depth = 0; context && o->depth < capacity / 4; context = o->mirror[context].parent)
		o->frames[o->depth++] = o->mirror[context].pc;
}

static void compare(struct observer *o, const struct unwind_regs *regs)
{
	unsigned first = 0, expected, i;

	o->reference.count = 0;
	_Unwind_Backtrace(take_frame, &o->reference);
	while (first < o->reference.count && o->reference.raw[first] != regs->pc)
		first++;
	expected = o->reference.count - first;
	/* libgcc lists the end of the chain, pc 0, where a coroutine or clone() leaves one. */
	while (expected > 0 && o->reference.raw[first + expected - 1] < 4096)
		expected--;
	if (expected > capacity / 4)
		expected = capacity / 4;
	for (i = 0; i < o->depth && i < expected; i++)
		if (o->frames[i] != o->reference.pc[first + i]) {
			report(o, expected, first, i);
			return;
		}
	if (o->depth < expected || (o->depth > expected && !partial))
		report(o, expected, first, i);
}

static NOINLINE void take(const struct unwind_regs *regs, bool compared)
{
	struct observer *o = observer ? observer : observe();
	if (o->busy) {
		atomic_fetch_add(&nested, 1);
		return;
	}
	o->busy = 1;
	follow(o, unwind_capture(o->stack, regs));
	if (compared) {
		atomic_fetch_add(&events, 1);
		compare(o, regs);
	}
	o->busy = 0;
}

/* In malloc's place. */
static FRAMED void event_if(bool compared)
{
	const struct unwind_regs regs = *CALLER_REGS();

	take(&regs, compared);
	sink++;
}

NOINLINE void event(void);
void event(void)
{
	event_if(true);
	sink++;
}

/* Random call graphs: frames of many shapes, entered from many places. */
static __thread uint32_t seed = 1;

static uint32_t chance(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

typedef void shape_function(unsigned depth);
static shape_function *const shapes[];

static void wander(unsigned depth)
{
	for (unsigned n = chance(4); n > 0; n--) {
		if (chance(3) == 0)
			event();
		if (depth > 0)
			shapes[chance(10)](depth - 1 - chance(2) * (depth > 1));
	}
	event();
}

static NOINLINE void shape_plain(unsigned depth)
{
	wander(depth);
	sink++;
}

static NOINLINE void shape_large(unsigned depth)
{
	volatile char frame[3000];

	frame[chance(3000)] = 1;
	wander(depth);
	sink += (unsigned)frame[5];
}

static NOINLINE void shape_alloca(unsigned depth)
{
	volatile char *frame = alloca(1 + chance(2000));

	frame[0] = 1;
	wander(depth);
	frame = alloca(1 + chance(2000));
	frame[0] = 2;
	wander(depth);
	sink += (unsigned)frame[0];
}

static NOINLINE void shape_aligned(unsigned depth)
{
	volatile char frame[64] __attribute__((aligned(64)));
	volatile char *more = alloca(1 + chance(300));

	frame[0] = more[0] = 1;
	wander(depth);
	sink += (unsigned)(frame[0] + more[0]);
}

static NOINLINE void shape_registers(unsigned depth)
{
	unsigned a = chance(9), b = chance(9), c = chance(9), d = chance(9), e = chance(9);

	wander(depth);
	sink += a * 2 + b * 3 + c * 5 + d * 7 + e;
	wander(depth / 2);
	sink += a + b + c + d + e;
}

static NOINLINE void shape_tail(unsigned depth)
{
	shapes[chance(5)](depth);
}

static NOINLINE void shape_two_ways(unsigned depth)
{
	if (chance(2))
		shape_plain(depth);
	else
		shape_plain(depth);
	sink++;
}

static FRAMED void shape_framed(unsigned depth)
{
	wander(depth);
	sink++;
}

static NOINLINE void shape_many(unsigned depth)
{
	for (unsigned i = 0; i < 3; i++)
		event();
	sink += depth;
}

static NOINLINE void shape_huge(unsigned depth)
{
	volatile char frame[200000];

	frame[chance(200000)] = 1;
	wander(depth > 3 ? 3 : depth);
	sink += (unsigned)frame[7];
}

static shape_function *const shapes[] = {
	shape_plain, shape_large,    shape_alloca, shape_aligned, shape_registers,
	shape_tail,  shape_two_ways, shape_framed, shape_many,    shape_huge,
};

static void test_shapes(void)
{
	for (unsigned i = 0; i < 60; i++) {
		seed = i * 77 + 1;
		wander(7);
	}
}

static NOINLINE void base_twice(void)
{
	through_base(event);
	sink++;
}

static void test_registers(void)
{
	for (unsigned i = 0; i < 50; i++) {
		through_base(event);
		through_base(base_twice);
		through_other(event);
		through_other(base_twice);
		event();
		shape_framed(1);
	}
}

/*
 * Stale frames. The functions called here have the same pc and stack pointer whether their callers or their own
 * frames took much stack. So old return addresses stay in memory where the last stack had them; only the frame
 * pointer, a saved one, or another preserved register shows that they are stale.
 */
static void fill(unsigned units)
{
	event();
	sink += units;
}

static FRAMED void fill_framed(unsigned units)
{
	event();
	sink += units;
}

static NOINLINE void rest_of_stack(unsigned units, unsigned way)
{
	volatile char *rest = alloca(16 * units);

	__asm__ volatile("" : : "r"(rest));
	if (way == 0)
		event();
	else if (way == 1)
		fill_framed(units);
	else if (way == 2)
		through_base(event);
	else
		fill(units);
	__asm__ volatile("" : : "r"(rest));
	sink++;
}

#define STALE_UNITS 24

static NOINLINE void one_way(unsigned units, unsigned way)
{
	volatile char *part = alloca(16 * units);

	__asm__ volatile("" : : "r"(part));
	rest_of_stack(STALE_UNITS - units, way);
	__asm__ volatile("" : : "r"(part));
	sink++;
}

static NOINLINE void other_way(unsigned units, unsigned way)
{
	volatile char *part = alloca(16 * units);

	__asm__ volatile("" : : "r"(part));
	rest_of_stack(STALE_UNITS - units, way);
	__asm__ volatile("" : : "r"(part));
	sink += 2;
}

static NOINLINE void rbx_way(unsigned units)
{
	volatile char *part = alloca(16 * units);

	__asm__ volatile("" : : "r"(part));
	through_base(event);
	__asm__ volatile("" : : "r"(part));
	sink++;
}

static NOINLINE void rbx_other_way(unsigned units)
{
	volatile char *part = alloca(16 * units);

	__asm__ volatile("" : : "r"(part));
	through_base(event);
	__asm__ volatile("" : : "r"(part));
	sink += 2;
}

/* One call site for all, so that the return address is the same. */
static void test_stale(void)
{
	static void (*const volatile ways[2])(unsigned, unsigned) = { one_way, other_way };
	static void (*const volatile rbx_ways[2])(unsigned) = { rbx_way, rbx_other_way };

	for (unsigned i = 0; i < 4000; i++)
		ways[chance(2)](chance(STALE_UNITS), i / 1000);
	for (unsigned i = 0; i < 1000; i++)
		rbx_ways[chance(2)](chance(8));
}

static FRAMED void below_code(void)
{
	event();
	event_if(true);
	sink++;
}

/*
 * Code without tables, in an object and in anonymous memory. libgcc stops there, so the test compares only the
 * frames inside with it; the callers outside must be the known ones, where the frame pointer leads to them.
 */
static FRAMED void test_no_tables(void)
{
	static const unsigned char code[] = MADE_CODE, odd_code[] = MADE_ODD_CODE;
	void (*made)(void (*)(void)), (*odd)(void (*)(void));
	uintptr_t outer[FRAMES_MAX];
	unsigned depth;
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const unsigned char *odd_at = page + sizeof(code);

	memcpy(page, code, sizeof(code));
	memcpy(page + sizeof(code), odd_code, sizeof(odd_code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)page, (char *)page + 4096);
	memcpy(&made, &page, sizeof(made));
	memcpy(&odd, &odd_at, sizeof(odd));
	event();
	depth = observer->depth;
	for (unsigned i = 0; i < depth; i++)
		outer[i] = observer->frames[depth - 1 - i];
	partial = true;
	for (unsigned round = 0; round < 20; round++) {
		unsigned now;

		(round % 2 ? made : without_tables)(below_code);
		now = observer->depth;
		/* outer[…] main, test, event; now: main, test, code, below_code. */
		if (now != (FRAME_POINTER_FINDS_SP ? depth + 1 : 2))
			report(observer, depth + 1, 0, 0);
		for (unsigned i = 0; FRAME_POINTER_FINDS_SP && i + 2 < depth; i++)
			if (observer->frames[now - 1 - i] != outer[i])
				report(observer, depth, 0, i);
		odd(below_code);
		if (observer->depth != 2)
			report(observer, 2, 0, 0);
	}
	partial = false;
	munmap(page, 4096);
}

static jmp_buf landing;

static NOINLINE void jump_from(unsigned depth)
{
	volatile char frame[48];

	frame[0] = 1;
	event();
	if (depth > 0)
		jump_from(depth - 1);
	else if (sink != 12345)
		longjmp(landing, 1);
	sink += (unsigned)frame[0];
}

static void test_longjmp(void)
{
	for (volatile unsigned i = 0; i < 200; i++) {
		if (setjmp(landing) == 0)
			jump_from(i % 23);
		event();
		shapes[i % 9](2);
	}
}

static void clean_up(int *unused)
{
	(void)unused;
	event();
	wander(2);
}

static NOINLINE void leave_thread(unsigned depth)
{
	int guard __attribute__((cleanup(clean_up))) = 0;

	event();
	if (depth > 0)
		leave_thread(depth - 1);
	else if (sink != 12345)
		pthread_exit(NULL);
	sink += (unsigned)guard;
}

/* pthread_exit() unwinds the stack as an exception does, and runs clean-ups on the way. */
static void *thread_main(void *data)
{
	seed = (uint32_t)(uintptr_t)data;
	for (unsigned i = 0; i < 8; i++)
		wander(6);
	leave_thread(9);
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[4];

	for (uintptr_t round = 0; round < 4; round++) {
		for (uintptr_t i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, thread_main, (void *)(round * 4 + i + 1));
		for (unsigned i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
}

static void on_signal(int number)
{
	if (observer && observer->busy) {
		nested++;
		return;
	}
	event();
	wander(2);
	sink += (unsigned)number;
}

static void on_fault(int number, siginfo_t *info, void *data)
{
	ucontext_t *context = data;

	(void)info;
	if (context_pc(context) != (uintptr_t)fault_at_once) {
		signal(number, SIG_DFL); /* an unexpected fault */
		return;
	}
	event();
	wander(2);
	context_skip_fault(context);
}

static NOINLINE void fault_below(unsigned depth)
{
	if (depth > 0)
		fault_below(depth - 1);
	else
		CALL_FAULT_AT_ONCE();
	sink++;
}

static void test_signals(bool alternate)
{
	static char other_stack[8 << 20];
	stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = alternate ? SA_ONSTACK : 0 };
	struct sigaction fault = { .sa_sigaction = on_fault,
				   .sa_flags = SA_SIGINFO | (alternate ? SA_ONSTACK : 0) };
	const struct itimerval often = { { 0, signals_apart }, { 0, signals_apart } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	for (unsigned i = 0; i < 100; i++) {
		raise(SIGUSR1);
		fault_below(i % 5);
		event();
		shapes[i % 9](1);
	}
	/* Captures at any instruction: prologues, epilogues, PLT stubs, the C library. */
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < 30; i++) {
		seed = i + 500;
		wander(7);
		for (volatile unsigned spin = 0; spin < 200000; spin++)
			sink += spin % 512 == 0 ? (unsigned)getppid() : (unsigned)rand();
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

struct coroutine {
	ucontext_t context;
	char *memory;
	size_t bytes;
	bool done;
};

static __thread ucontext_t scheduler;
static __thread struct coroutine *running;

static void yield(void)
{
	swapcontext(&running->context, &scheduler);
}

static NOINLINE void coroutine_work(unsigned depth)
{
	event();
	if (depth > 0)
		coroutine_work(depth - 1);
	yield();
	event();
	sink++;
}

static void coroutine_main(void)
{
	coroutine_work(3 + chance(5));
	running->done = true;
	yield();
}

static void coroutine_start(struct coroutine *c, size_t bytes)
{
	c->bytes = bytes;
	c->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c->done = false;
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->memory;
	c->context.uc_stack.ss_size = bytes;
	c->context.uc_link = NULL;
	makecontext(&c->context, coroutine_main, 0);
}

/* Stacks are mapped, unmapped, and mapped elsewhere, or in the same place with another size. */
static void test_coroutines(void)
{
	static struct coroutine all[6];

	for (unsigned i = 0; i < 3000; i++) {
		struct coroutine *c = &all[chance(6)];

		if (!c->memory)
			coroutine_start(c, (16 + 16 * (size_t)chance(3)) << 10);
		running = c;
		swapcontext(&scheduler, &c->context);
		if (c->done) {
			munmap(c->memory, c->bytes);
			c->memory = NULL;
		}
		if (chance(4) == 0)
			event();
	}
}

static NOINLINE void recurse(unsigned depth, unsigned every)
{
	volatile char frame[16];

	frame[0] = 1;
	event_if(depth % every == 0);
	if (depth > 0)
		recurse(depth - 1, every);
	event_if(depth % every == 1);
	sink += (unsigned)frame[0];
}

static void *recurse_main(void *data)
{
	capacity = *(unsigned *)data;
	recurse(deepest, 2503);
	recurse(capacity / 4, 1);
	recurse(capacity / 8 + 1, 1);
	forget();
	return NULL;
}

static void test_recursion(void)
{
	unsigned sizes[] = { 64, 1024, 4 * FRAMES_MAX };
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 20);
	for (unsigned i = 0; i < 3; i++) {
		pthread_create(&thread, &attributes, recurse_main, &sizes[i]);
		pthread_join(thread, NULL);
	}
}

static FRAMED void event_unchecked(void)
{
	event_if(false);
	sink++;
}

/* A broken stack: one page of random words below an unmapped page. */
static void test_broken(void)
{
	unsigned char *memory =
		mmap(NULL, 4 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t words[] = { 0, 1, UINTPTR_MAX, (uintptr_t)event, (uintptr_t)memory };

	munmap(memory + (3 << 12), 1 << 12);
	for (unsigned i = 0; i < 400; i++) {
		uintptr_t *top = (uintptr_t *)(memory + (3 << 12)) - chance(24);
		uintptr_t bp = (uintptr_t)top + chance(300) - chance(5) * 8;

		for (uintptr_t *word = top; word < (uintptr_t *)(memory + (3 << 12)); word++)
			*word = chance(3) ? words[chance(5)] : (uintptr_t)top + chance(200);
		top = (uintptr_t *)((uintptr_t)top & ~(uintptr_t)15);
		on_stack(top, chance(2) ? bp : words[chance(5)], event_unchecked);
	}
	munmap(memory, 3 << 12);
}

#define HOPS_MOST 6u
#define HOP_STACK (64u << 10)

static unsigned char *hop_at[2]; /* where the two stacks are free */
static unsigned hops_left, hop_on;

static FRAMED void hop(void)
{
	const unsigned on = hop_on;
	unsigned char *const top = hop_at[on];

	event();
	if (hops_left-- > 0) {
		hop_at[on] = (unsigned char *)__builtin_frame_address(0) - 1024;
		hop_on = !on;
		on_neighbour((void *)((uintptr_t)hop_at[!on] & ~(uintptr_t)15), hop);
		hop_on = on;
		hop_at[on] = top;
		event();
	}
	sink++;
}

/* Calls from one stack to the other and back, with no gap between them. */
static void test_neighbours(void)
{
	unsigned char *memory =
		mmap(NULL, 2 * HOP_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned i = 0; i < 2 * HOPS_MOST; i++) {
		hop_at[0] = memory + HOP_STACK;
		hop_at[1] = memory + 2 * HOP_STACK;
		hops_left = i / 2;
		hop_on = i % 2;
		on_neighbour(hop_at[hop_on], hop);
	}
	munmap(memory, 2 * HOP_STACK);
}

static void test_plugins(int count, char **paths)
{
	uintptr_t where[16] = { 0 };
	unsigned returned = 0;

	for (int i = 0; i < 60 && count > 0; i++) {
		void *handle = dlopen(paths[i % count], RTLD_NOW);
		void (*run)(void (*)(void));
		void *symbol = handle ? dlsym(handle, "plugin_run") : NULL;

		if (!symbol) {
			fprintf(stderr, "%s: %s\n", paths[i % count], dlerror());
			failures++;
			return;
		}
		returned += i > 0 && where[0] == (uintptr_t)symbol;
		where[0] = (uintptr_t)symbol;
		memcpy(&run, &symbol, sizeof(run));
		run(event);
		run(event);
		modules_closing_begin();
		event();
		dlclose(handle);
		event();
		modules_closing_end(stamp(), true);
		event();
	}
	printf("plugins: the same address %u times\n", returned);
}

static struct module_table *new_table(void)
{
	struct module_table *table = mmap(NULL, module_table_bytes(256, 1 << 16), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	table->capacity = 256;
	table->text_capacity = 1 << 16;
	return table;
}

static void test_fork(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		struct module_table *table = new_table();

		modules_after_fork(table, NULL);
		wander(6);
		_exit(failures == 0 && table->count >= 2 ? 0 : 1);
	}
	if (waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "the forked child failed\n");
		failures++;
	}
}

static void run(const char *name)
{
	printf("%-12s %9lu events, %lu failures\n", name, events, failures);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const bool old = argc > 1 && strcmp(argv[1], "--dl-iterate-phdr") == 0;

	argv += old;
	argc -= old;
	if (argc > 1 && strcmp(argv[1], "--emulated") == 0) {
		signals_apart = 20000;
		deepest = 10000;
		argv++;
		argc--;
	}
	modules_init(new_table(),
		     old ? NULL : (modules_find_function *)dlsym(RTLD_DEFAULT, "_dl_find_object"), stamp);
	event();
	test_shapes(), run("shapes");
	test_registers(), run("registers");
	test_stale(), run("stale");
	test_no_tables(), run("no tables");
	test_longjmp(), run("longjmp");
	test_signals(false), run("signals");
	test_signals(true), run("altstack");
	test_coroutines(), run("coroutines");
	test_broken(), run("broken");
	test_neighbours(), run("neighbours");
	test_threads(), run("threads");
	test_recursion(), run("recursion");
	test_plugins(argc - 1, argv + 1), run("plugins");
	test_fork(), run("fork");
	printf("nested events skipped: %lu\n", nested);
	return failures != 0;
}
