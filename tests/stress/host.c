/* SPDX-License-Identifier: MIT */
/*
 * A program that is difficult for a recorder: one case a run, named by the first argument. All its own
 * allocations are aligned_alloc() calls, which no library here makes, so a trace can be checked against
 * the last line of output, "calls N". A case that forks prints its counts itself; see hosts.py.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

static char **behind_arguments;

static _Atomic unsigned long calls;

static void *take(size_t n)
{
	void *p = aligned_alloc(16, (n + 15) & ~(size_t)15);

	atomic_fetch_add(&calls, 1);
	if (p)
		memset(p, 1, n < 64 ? n : 64);
	return p;
}

static void churn(unsigned n)
{
	void *kept[16] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		free(kept[i % 16]);
		kept[i % 16] = take(i * 7919 % 500);
	}
	for (int i = 0; i < 16; i++)
		free(kept[i]);
}

/* A forked child calls this instead, so that its calls differ from the inherited ones. */
static void *take_in_child(size_t n)
{
	return memalign(16, n);
}

__attribute__((noreturn)) static void fail(const char *what)
{
	perror(what);
	exit(99);
}

static void *churn_thread(void *n)
{
	churn((unsigned)(uintptr_t)n);
	return NULL;
}

static void start(pthread_t *thread, void *(*function)(void *), void *argument)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	if ((errno = pthread_create(thread, &attr, function, argument)) != 0)
		fail("pthread_create");
	pthread_attr_destroy(&attr);
}

/* Starts up to 1,500 threads, and awaits their ends. */
static void run_threads(int n, void *(*function)(void *), void *argument)
{
	static pthread_t thread[1500];

	for (int i = 0; i < n; i++)
		start(&thread[i], function, argument);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

static void await(pid_t pid, int wanted)
{
	int status;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted) {
		fprintf(stderr, "child: status %x\n", (unsigned)status);
		exit(98);
	}
}

/* ---- before main ---- */

static void *early[2];

static void preinit(int argc, char **argv, char **env)
{
	(void)argc, (void)argv, (void)env;
	early[0] = take(100);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit_entry)(int, char **,
										    char **) = preinit;

__attribute__((constructor(101))) static void construct(void)
{
	early[1] = take(200);
}

__attribute__((destructor(101))) static void destruct(void)
{
	free(early[0]);
	free(early[1]);
}

static void at_exit(void)
{
	churn(10);
	printf("calls %lu\n", atomic_load(&calls));
	fflush(stdout);
}

/* Not every allocator's reallocarray() calls realloc(). */
static void case_early(void)
{
	void *array = NULL;

	churn(100);
	for (size_t n = 1; n < 50; n++)
		array = reallocarray(array, n, 64);
	free(array);
}

/* ---- threads ---- */

static pthread_key_t key;

/* Sets the key once more, so that destructors run a second time. */
static void key_destructor(void *value)
{
	const char again = *(char *)value;

	free(value);
	churn(5);
	if (again) {
		char *next = take(100);

		*next = 0;
		pthread_setspecific(key, next);
	}
}

static void *key_thread(void *argument)
{
	(void)argument;
	pthread_setspecific(key, take(100));
	churn(20);
	pthread_exit(NULL);
}

static void case_tls(void)
{
	pthread_key_create(&key, key_destructor);
	run_threads(50, key_thread, NULL);
}

static void case_short_threads(void)
{
	for (int round = 0; round < 100; round++)
		run_threads(20, churn_thread, (void *)10);
}

static pthread_barrier_t barrier;

static void *barrier_thread(void *argument)
{
	(void)argument;
	churn(20);
	pthread_barrier_wait(&barrier);
	churn(20);
	return NULL;
}

static void case_many_threads(void)
{
	pthread_barrier_init(&barrier, NULL, 300);
	run_threads(300, barrier_thread, NULL);
}

static void *patient_thread(void *argument)
{
	barrier_thread(argument);
	for (int i = 0; i < 400; i++) {
		usleep(1000);
		churn(10);
	}
	return NULL;
}

/* More threads than there are rings; calls of the others are lost, but not those when there are rings again. */
static void case_more_threads(void)
{
	static pthread_t thread[1100];

	pthread_barrier_init(&barrier, NULL, 1100);
	for (int i = 0; i < 1100; i++)
		start(&thread[i], i < 1000 ? barrier_thread : patient_thread, NULL);
	for (int i = 0; i < 1100; i++)
		pthread_join(thread[i], NULL);
	churn(100);
}

static void *pairing_thread(void *argument)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 200; i++)
		free(take(64));
	pthread_barrier_wait(&barrier);
	return argument;
}

/* All alive while they make their calls: those without a ring never get one. */
static void case_ringless_threads(void)
{
	pthread_barrier_init(&barrier, NULL, 1500);
	run_threads(1500, pairing_thread, NULL);
	churn(100);
}

/* Blocks that change hands: one thread allocates, another frees at once. */
static void *_Atomic exchanged[8];

static void *exchange_thread(void *argument)
{
	unsigned at = (unsigned)(uintptr_t)argument;

	for (int i = 0; i < 20000; i++) {
		at = at * 1103515245u + 12345u;
		free(atomic_exchange(&exchanged[at >> 16 & 7], take(at >> 20 & 255)));
	}
	return NULL;
}

static void case_exchange(void)
{
	pthread_t thread[8];

	for (uintptr_t i = 0; i < 8; i++)
		start(&thread[i], exchange_thread, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 8; i++)
		free(exchanged[i]);
}

/* The process ends while threads are at work; none is joined. */
static _Atomic int stop;
static _Atomic int n_busy; /* threads at work */

static void *busy_thread(void *argument)
{
	(void)argument;
	churn(50);
	n_busy++;
	while (!stop)
		churn(50);
	return NULL;
}

static void case_leave_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		start(&thread, busy_thread, NULL);
	while (n_busy < 4)
		usleep(1000);
	usleep(50000);
	_exit(6);
}

/* Prints the resident size, in steps of 256 MiB. */
static void case_mlockall(void)
{
	struct rusage usage;

	/* The whole mapping of the recorder exceeds the machine's memory; SIGALRM ends an attempt to page it in. */
	alarm(2);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		fail("mlockall");
	alarm(0);
	churn(1000);
	getrusage(RUSAGE_SELF, &usage);
	printf("at most %ld\n", usage.ru_maxrss >> 18);
}

/* ---- processes ---- */

/* Every child makes exactly 100 calls of its own and ends with status 7. */
static void case_fork(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		start(&thread[i], busy_thread, NULL);
	for (int i = 0; i < 20; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			for (int k = 0; k < 100; k++)
				free(take_in_child((size_t)k));
			_exit(7);
		}
		await(pid, 7);
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static void descend(int generations)
{
	const pid_t pid = generations ? fork() : -1;

	if (pid == 0) {
		free(take_in_child(10));
		descend(generations - 1);
		_exit(7);
	}
	if (pid > 0)
		await(pid, 7);
}

/* Each process has the calls of all its ancestors, and one of its own. */
static void case_generations(void)
{
	usleep(100000);
	churn(10);
	descend(20);
}

/* More processes at a time than can be recorded. */
static void case_many_processes(void)
{
	static pid_t child[300];
	int gate[2];
	char byte;

	if (pipe(gate) != 0)
		fail("pipe");
	for (int i = 0; i < 300; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			free(take_in_child(10));
			close(gate[1]);
			if (read(gate[0], &byte, 1) != 0)
				_exit(1);
			free(take_in_child(20));
			_exit(7);
		}
	}
	close(gate[1]);
	for (int i = 0; i < 300; i++)
		await(child[i], 7);
	churn(20);
}

/* The children call themselves 1 and 2. */
static void case_pid_namespace(void)
{
	if (unshare(CLONE_NEWPID) != 0)
		fail("unshare");
	churn(10);
	const pid_t pid = fork();
	if (pid == 0) {
		for (int k = 0; k < 100; k++)
			free(take_in_child((size_t)k));
		const pid_t second = fork();
		if (second == 0) {
			free(take_in_child(10));
			_exit(getpid() == 2 ? 7 : 1);
		}
		await(second, 7);
		_exit(getpid() == 1 ? 7 : 1);
	}
	await(pid, 7);
}

static void case_vfork(void)
{
	char *const argv[] = { (char *)"true", NULL };

	for (int i = 0; i < 20; i++) {
		const pid_t pid = vfork();

		if (pid == 0) {
			execve("/bin/true", argv, environ);
			_exit(50);
		}
		churn(20);
		await(pid, 0);
	}
}

static void case_spawn(void)
{
	char *const argv[] = { (char *)"env", NULL };
	posix_spawn_file_actions_t actions;
	char line[256];
	FILE *pipe;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < 20; i++) {
		churn(20);
		if ((errno = posix_spawn(&pid, "/usr/bin/env", &actions, NULL, argv, environ)) != 0)
			fail("posix_spawn");
		await(pid, 0);
	}
	posix_spawn_file_actions_destroy(&actions);
	for (int i = 0; i < 5; i++) {
		if (system("exit 3") != 3 << 8)
			fail("system");
	}
	pipe = popen("echo x", "r");
	if (!pipe || !fgets(line, sizeof line, pipe) || pclose(pipe) != 0)
		fail("popen");
	churn(20);
}

/* The first process ends at once; the second goes on with no descriptor at all. */
static void case_daemon(void)
{
	fflush(stdout);
	churn(10);
	if (fork() != 0)
		_exit(0);
	setsid();
	for (int i = 0; i < 1024; i++)
		close(i);
	for (int k = 0; k < 1000; k++)
		free(take_in_child((size_t)k));
	usleep(300000);
	for (int k = 0; k < 1000; k++)
		free(take_in_child((size_t)k));
	_exit(0);
}

/* ---- the process's surroundings ---- */

static void case_chroot(void)
{
	char folder[] = "/tmp/msrec-host-XXXXXX";

	if (!mkdtemp(folder) || chroot(folder) != 0 || chdir("/") != 0)
		fail("chroot");
	churn(100);
	run_threads(1, churn_thread, (void *)100);
}

static void case_setuid(void)
{
	if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
		fail("setuid");
	churn(100);
	run_threads(1, churn_thread, (void *)100);
}

/* As Go's run-time, which makes its system calls without libc. */
static void case_environment(void)
{
	for (char **at = behind_arguments; *at; at++) {
		if (strstr(*at, "msrec") || strncmp(*at, "MSREC", 5) == 0)
			fail(*at);
	}
	churn(1);
}

static void case_clearenv(void)
{
	clearenv();
	churn(100);
	environ = NULL;
	churn(100);
}

static void case_nofile(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_NOFILE, &none) != 0)
		fail("setrlimit");
	churn(100);
	run_threads(1, churn_thread, (void *)100);
}

/* The few system calls that a program needs; its memory is mapped already. */
static void case_limits(void)
{
	static const int limits[] = { RLIMIT_CORE, RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE,  RLIMIT_NOFILE,
				      RLIMIT_NICE, RLIMIT_RTPRIO,  RLIMIT_SIGPENDING };
	const struct rlimit none = { 0, 0 }, little = { 1 << 20, 1 << 20 }, cpu = { 60, 60 };

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		if (setrlimit((__rlimit_resource_t)limits[i], &none) != 0)
			fail("setrlimit");
	}
	if (setrlimit(RLIMIT_STACK, &little) != 0 || setrlimit(RLIMIT_FSIZE, &little) != 0 ||
	    setrlimit(RLIMIT_CPU, &cpu) != 0)
		fail("setrlimit");
	churn(5000);
	run_threads(1, churn_thread, (void *)5000);
}

/*
 * Allocates until malloc fails, frees all, goes on. With a recorder, too, most of the allowed memory must be the
 * program's.
 */
static void case_address_space(void)
{
	const struct rlimit limit = { 1u << 30, 1u << 30 };
	void *chain = NULL, **p;
	int failures = 0, blocks = 0;

	if (setrlimit(RLIMIT_AS, &limit) != 0)
		fail("setrlimit");
	while (failures < 100) {
		p = take(1 << 20);
		if (p) {
			*p = chain;
			chain = p;
			blocks++;
		} else {
			failures++;
		}
	}
	if (blocks < 700)
		fail("room for 700 MiB");
	while ((p = chain)) {
		chain = *p;
		free(p);
	}
	churn(100);
}

/* ---- signals ---- */

static void on_alarm(int signal_number)
{
	(void)signal_number;
	churn(3);
}

/* Needs an allocator that a handler may call at any time (bump.c). */
static void case_storm(void)
{
	const struct itimerval every = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	churn(1000000);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
}

static sigjmp_buf before_alarm;
static volatile int jumps;

static void on_alarm_jump(int signal_number)
{
	(void)signal_number;
	churn(3);
	jumps++;
	siglongjmp(before_alarm, 1);
}

/* Long jumps out of handlers, from any instruction. The interrupted call never continues; many calls follow. */
static void case_jumps(void)
{
	const struct itimerval every = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, on_alarm_jump);
	setitimer(ITIMER_REAL, &every, NULL);
	sigsetjmp(before_alarm, 1);
	while (jumps < 100)
		churn(1000);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	churn(200000);
}

static volatile pid_t forked = -1;
static volatile int handler_forks;

static void on_alarm_fork(int signal)
{
	(void)signal;
	if (forked != 0 && handler_forks++ < 20)
		forked = fork();
}

/* The calls of both processes, whatever instruction the signal interrupted. */
static void case_fork_in_handlers(void)
{
	const struct itimerval every = { { 0, 1000 }, { 0, 1000 } };

	signal(SIGALRM, on_alarm_fork);
	setitimer(ITIMER_REAL, &every, NULL);
	while (forked != 0 && handler_forks < 20)
		churn(1000);
	signal(SIGALRM, SIG_IGN);
	churn(100000);
	if (forked == 0)
		_exit(7);
	for (int i = 0; i < 20; i++)
		await(-1, 7);
}

static void case_altstack(void)
{
	static char memory[64 << 10];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof memory };
	const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 500; i++) {
		churn(3);
		raise(SIGUSR1);
	}
}

static sigjmp_buf fault_jump;
static volatile int faults, sys_signals, ticks;

static void on_fault(int signal_number)
{
	(void)signal_number;
	faults++;
	churn(2);
	siglongjmp(fault_jump, 1);
}

static void on_sys(int signal_number)
{
	(void)signal_number;
	sys_signals++;
	churn(2);
}

static void on_tick(int signal_number)
{
	(void)signal_number;
	ticks++;
}

/* The program's own handlers catch each fault and count each tick. */
static void case_handlers(void)
{
	const struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	const struct sigaction fault = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	signal(SIGSYS, on_sys);
	signal(SIGPROF, on_tick);
	setitimer(ITIMER_PROF, &every, NULL);
	for (volatile int i = 0; i < 300; i++) {
		churn(3);
		if (sigsetjmp(fault_jump, 1) == 0)
			*(volatile int *)(uintptr_t)8 = 1;
		raise(SIGSYS);
	}
	/* Ends a hang, should another handler have taken the ticks. */
	while (ticks < 5)
		;
	setitimer(ITIMER_PROF, &never, NULL);
	printf("%d faults, %d SIGSYS\n", faults, sys_signals);
}

/* ---- stacks ---- */

static jmp_buf jump;
static volatile bool jumping = true;

static void deeper(int n)
{
	free(take((size_t)n));
	if (n > 0)
		deeper(n - 1);
	else if (jumping)
		longjmp(jump, 1);
	free(take(1));
}

static void case_longjmp(void)
{
	for (volatile int i = 0; i < 300; i++) {
		if (setjmp(jump) == 0)
			deeper(i % 40);
		free(take(3));
	}
}

#define COROUTINES 4

static ucontext_t main_context, coroutine[COROUTINES];

static void coroutine_main(int self)
{
	for (;;) {
		churn((unsigned)self + 1);
		swapcontext(&coroutine[self], &main_context);
	}
}

static void case_coroutines(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&coroutine[i]);
		coroutine[i].uc_stack.ss_sp = take(64 << 10);
		coroutine[i].uc_stack.ss_size = 64 << 10;
		coroutine[i].uc_link = &main_context;
		makecontext(&coroutine[i], (void (*)(void))coroutine_main, 1, i);
	}
	for (int i = 0; i < 2000; i++) {
		swapcontext(&main_context, &coroutine[i % COROUTINES]);
		churn(2);
	}
	for (int i = 0; i < COROUTINES; i++)
		free(coroutine[i].uc_stack.ss_sp);
}

static void recurse(int n)
{
	char *volatile some = __builtin_alloca((size_t)(n % 50 + 1));

	some[0] = 1;
	if (n % 10 == 0)
		free(take(10));
	if (n > 0)
		recurse(n - 1);
	if (n % 10 == 5)
		free(take(10));
}

/* Calls function(argument) with a stack that is aligned to 8 bytes only, which libc's malloc tolerates. */
void *call_unaligned(uintptr_t argument, void *function);
__asm__(".text\n"
	".type call_unaligned, @function\n"
	"call_unaligned:\n"
	".cfi_startproc\n"
	"	subq $16, %rsp\n"
	".cfi_adjust_cfa_offset 16\n"
	"	call *%rsi\n"
	"	addq $16, %rsp\n"
	".cfi_adjust_cfa_offset -16\n"
	"	ret\n"
	".cfi_endproc\n");

static void take_unaligned(int depth)
{
	char *volatile some = __builtin_alloca((size_t)(depth % 5 + 1));

	some[0] = 1;
	if (depth > 0)
		take_unaligned(depth - 1);
	else
		call_unaligned((uintptr_t)call_unaligned(100, (void *)malloc), (void *)free);
}

static void case_unaligned(void)
{
	for (int i = 0; i < 2000; i++)
		take_unaligned(i * 7919 % 40);
}

static void *deep_thread(void *argument)
{
	(void)argument;
	recurse(100000);
	return NULL;
}

static void case_deep(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 20);
	if (pthread_create(&thread, &attr, deep_thread, NULL) != 0)
		fail("pthread_create");
	pthread_join(thread, NULL);
}

/* ---- libraries; HOST_PLUGIN names one that has plugin_take() ---- */

static void use_plugin(int flags, int times)
{
	const char *path = getenv("HOST_PLUGIN");

	for (int i = 0; i < times; i++) {
		void *plugin = path ? dlopen(path, flags) : NULL;
		void *(*plugin_take)(size_t);

		if (!plugin) {
			fprintf(stderr, "%s\n", dlerror());
			exit(97);
		}
		*(void **)&plugin_take = dlsym(plugin, "plugin_take");
		free(plugin_take(100));
		churn(3);
		dlclose(plugin);
		churn(3);
	}
}

static void case_dlopen(void)
{
	use_plugin(RTLD_NOW | RTLD_LOCAL, 300);
}

static void case_deepbind(void)
{
	use_plugin(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, 20);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "early", case_early },
	{ "tls", case_tls },
	{ "short-threads", case_short_threads },
	{ "many-threads", case_many_threads },
	{ "more-threads", case_more_threads },
	{ "ringless-threads", case_ringless_threads },
	{ "exchange", case_exchange },
	{ "leave-threads", case_leave_threads },
	{ "mlockall", case_mlockall },
	{ "unaligned", case_unaligned },
	{ "fork-in-handlers", case_fork_in_handlers },
	{ "jumps", case_jumps },
	{ "fork", case_fork },
	{ "generations", case_generations },
	{ "many-processes", case_many_processes },
	{ "pid-namespace", case_pid_namespace },
	{ "vfork", case_vfork },
	{ "spawn", case_spawn },
	{ "daemon", case_daemon },
	{ "chroot", case_chroot },
	{ "setuid", case_setuid },
	{ "environment", case_environment },
	{ "clearenv", case_clearenv },
	{ "nofile", case_nofile },
	{ "limits", case_limits },
	{ "address-space", case_address_space },
	{ "storm", case_storm },
	{ "altstack", case_altstack },
	{ "handlers", case_handlers },
	{ "longjmp", case_longjmp },
	{ "coroutines", case_coroutines },
	{ "deep", case_deep },
	{ "dlopen", case_dlopen },
	{ "deepbind", case_deepbind },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		atexit(at_exit);
		behind_arguments = argv + argc + 1;
		cases[i].run();
		return 0;
	}
	fprintf(stderr, "usage: host CASE\n");
	return 96;
}
