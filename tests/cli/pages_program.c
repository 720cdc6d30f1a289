/* SPDX-License-Identifier: MIT */
/*
 * pages_program STEPS: makes STEPS steps of mapping and unmapping, each in another way, prints sums of
 * /proc/self/maps, and ends at once. "all bytes of all mappings" "bytes of the stack"
 *
 * pages_program list: how many steps there are.
 * pages_program placed: the steps that don't depend on the addresses that the kernel chooses.
 * pages_program asking: maps code after it has probed the kernel's filters, as libseccomp does.
 * pages_program confined: steps under a filter that kills at all other system calls.
 * pages_program churn N: N random operations on a few places; a child makes the last two thirds, too. Prints as above.
 * pages_program far: maps code with no free address range near it.
 * pages_program trapped: mmap raises SIGSYS, and fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

static char *area;
static void *library, *segment;
static void *volatile kept[64];
static int status;
extern char **environ;

static void must(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "pages_program: %s failed\n", what);
	_exit(1);
}

static char *map(void *at, size_t size, int flags)
{
	char *p = mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	must(p != MAP_FAILED, "mmap");
	return p;
}

/* ---- steps ---- */

static void nothing(void)
{
}

static void map_area(void)
{
	area = map(NULL, 100 * PAGE + 1, 0);
}

static void unmap_middle(void)
{
	must(munmap(area + 10 * PAGE, 5 * PAGE + 7) == 0, "munmap");
}

static void unmap_twice(void)
{
	must(munmap(area + 8 * PAGE, 12 * PAGE) == 0, "munmap");
}

static void map_over(void)
{
	must(map(area + 30 * PAGE, 10 * PAGE, MAP_FIXED) == area + 30 * PAGE, "mmap");
	map(area + 9 * PAGE, 3 * PAGE, MAP_FIXED);
}

static void failures(void)
{
	must(munmap(area + 1, PAGE) != 0, "failing");
	must(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, "failing");
	must(mremap(area + 95 * PAGE, PAGE, (size_t)1 << 60, MREMAP_MAYMOVE) == MAP_FAILED, "failing");
	must(sbrk((intptr_t)1 << 60) == (void *)-1, "failing");
	must(shmdt(area) != 0, "failing");
}

static void grow_and_move(void)
{
	kept[0] = mremap(area + 50 * PAGE, 4 * PAGE, 300 * PAGE, MREMAP_MAYMOVE);
	must(kept[0] != MAP_FAILED, "mremap");
}

static void shrink(void)
{
	must(mremap(kept[0], 300 * PAGE, 17 * PAGE, 0) == kept[0], "mremap");
}

static void move_over(void)
{
	must(mremap(area + 60 * PAGE, 8 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, area + 70 * PAGE) ==
		     area + 70 * PAGE,
	     "mremap");
}

static void move_and_keep(void)
{
	kept[1] = mremap(area + 80 * PAGE, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | 4, NULL);
	must(kept[1] != MAP_FAILED, "mremap");
}

static void second_view(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED && mremap(p, 0, 2 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED, "mremap");
}

static void raise_break(void)
{
	must(sbrk(100001) != (void *)-1 && sbrk(3) != (void *)-1 && sbrk(4096) != (void *)-1, "sbrk");
}

static void lower_break(void)
{
	must(sbrk(-50000) != (void *)-1 && sbrk(-1) != (void *)-1, "sbrk");
}

static void large_blocks(void)
{
	kept[2] = malloc(50 << 20);
	kept[3] = calloc(3, 1 << 20);
	kept[2] = realloc(kept[2], 70 << 20);
	for (int i = 4; i < 20; i++)
		kept[i] = malloc(30000);
}

static void free_blocks(void)
{
	for (int i = 2; i < 20; i++)
		free(kept[i]);
	malloc_trim(0);
}

static void *in_thread(void *argument)
{
	kept[20] = malloc(100000);
	kept[21] = map(NULL, 13 * PAGE, 0);
	return argument;
}

static void run_thread(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, in_thread, NULL) == 0 && pthread_join(thread, NULL) == 0,
	     "a thread");
}

/* All threads live at one time, so that each gets a heap (arena) of its own. */
static pthread_barrier_t all_there;

static void *in_many(void *argument)
{
	void *volatile own = malloc(1000);

	pthread_barrier_wait(&all_there);
	for (int i = 0; i < 200; i++) {
		char *p = map(NULL, 7 * PAGE, 0);

		munmap(p, 7 * PAGE);
		p = map(NULL, 3 * PAGE, 0);
		munmap(p, 3 * PAGE);
		free(malloc(200000));
	}
	free(own);
	pthread_barrier_wait(&all_there);
	return argument;
}

static void run_many(void)
{
	pthread_t threads[8];

	pthread_barrier_init(&all_there, NULL, 8);
	for (int i = 0; i < 8; i++)
		must(pthread_create(&threads[i], NULL, in_many, NULL) == 0, "a thread");
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

static void attach(void)
{
	const int id = shmget(IPC_PRIVATE, 5 * PAGE + 1, IPC_CREAT | 0600);

	must(id >= 0, "shmget");
	segment = shmat(id, NULL, 0);
	must(segment != (void *)-1 && shmat(id, NULL, SHM_RDONLY) != (void *)-1, "shmat");
	shmctl(id, IPC_RMID, NULL);
}

static void detach(void)
{
	must(shmdt(segment) == 0, "shmdt");
}

static void open_library(void)
{
	library = dlopen("libz.so.1", RTLD_NOW);
	must(library != NULL, "dlopen");
}

static void close_library(void)
{
	dlclose(library);
}

static void map_file(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY);

	must(mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mmap");
	must(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mmap");
	/* Mostly beyond the end of the file. */
	must(mmap(NULL, (size_t)1 << 24, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mmap");
	close(fd);
}

/* In a position-dependent program its address may be that of a PLT stub. */
static void call_directly(void)
{
	long (*const volatile by_address)(long, ...) = syscall;

	kept[22] = (void *)syscall(SYS_mmap, NULL, 21 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	must(kept[22] != MAP_FAILED, "mmap");
	must(syscall(SYS_munmap, kept[22], PAGE) == 0, "munmap");
	must(syscall(SYS_munmap, (char *)kept[22] + 1, PAGE) == -1, "failing");
	must(syscall(SYS_getpid) == getpid(), "getpid");
	kept[24] =
		(void *)by_address(SYS_mmap, NULL, 22 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	must(kept[24] != MAP_FAILED, "mmap");
}

/* Written as the Go run-time does it. */
static void call_inline(void)
{
	register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS;
	register long fd __asm__("r8") = -1, offset __asm__("r9") = 0;
	long result;

	__asm__ volatile("movl $9, %%eax\n\tsyscall"
			 : "=a"(result)
			 : "D"(0L), "S"(19 * PAGE), "d"((long)PROT_READ), "r"(flags), "r"(fd), "r"(offset)
			 : "rcx", "r11", "memory");
	must(result > 0, "mmap");
}

static void fork_child(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		map(NULL, 50 * PAGE, 0);
		munmap(area, PAGE);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "a child");
}

static void spawn_child(void)
{
	char name[] = "true";
	char *const words[] = { name, NULL };
	pid_t pid;

	must(posix_spawnp(&pid, "true", NULL, NULL, words, environ) == 0, "posix_spawn");
	must(waitpid(pid, &status, 0) == pid && status == 0, "true");
	must(system("exit 3") == 3 << 8, "system");
}

static void vfork_child(void)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		/* The child shares its parent's memory. */
		map(NULL, 11 * PAGE, 0);
		execlp("true", "true", NULL);
		_exit(1);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "true");
}

static void on_signal(int number)
{
	(void)number;
	map(NULL, 23 * PAGE, 0);
}

static void handle_signal(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	signal(SIGSYS, on_signal);
	raise(SIGSYS);
}

static void block_signals(void)
{
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	kept[23] = map(NULL, 6 * PAGE, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A system call keeps the floating-point and vector registers. */
static void keep_registers(void)
{
	register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS;
	register long fd __asm__("r8") = -1, offset __asm__("r9") = 0;
	double before = 1.25, after = 0;
	long result;

	__asm__ volatile("movsd %2, %%xmm7\n\tfldpi\n\tmovl $9, %%eax\n\tsyscall\n\t"
			 "movsd %%xmm7, %1\n\tfstp %%st(0)"
			 : "=&a"(result), "=m"(after)
			 : "m"(before), "D"(0L), "S"(PAGE), "d"((long)PROT_READ), "r"(flags), "r"(fd),
			   "r"(offset)
			 : "rcx", "r11", "xmm7", "memory");
	must(result > 0 && after == 1.25, "keeping registers");
}

/* The kernel grows the stack without a system call. */
static void grow_stack(void)
{
	volatile char deep[1 << 20];

	for (size_t i = 0; i < sizeof(deep); i += PAGE)
		deep[sizeof(deep) - 1 - i] = 1;
}

static void (*const steps[])(void) = {
	nothing,       map_area,       unmap_middle,  unmap_twice, map_over,    failures,     grow_and_move,
	shrink,        move_over,      move_and_keep, second_view, raise_break, lower_break,  large_blocks,
	free_blocks,   run_thread,     run_many,      attach,      detach,      open_library, close_library,
	map_file,      call_directly,  call_inline,   fork_child,  spawn_child, vfork_child,  handle_signal,
	block_signals, keep_registers, grow_stack,
};
#define N_STEPS (sizeof(steps) / sizeof(*steps))

static void run_placed(void)
{
	static void (*const placed[])(void) = {
		map_area,    unmap_middle, unmap_twice, map_over,      move_over,   raise_break,
		lower_break, raise_break,  call_inline, call_directly, free_blocks, attach,
		detach,      fork_child,   map_over,    block_signals,
	};

	for (size_t i = 0; i < sizeof(placed) / sizeof(*placed); i++)
		placed[i]();
	for (int i = 0; i < 60; i++)
		kept[i] = malloc((size_t)i * 9001);
	for (int i = 0; i < 60; i += 2)
		free(kept[i]);
	kept[0] = calloc(20, 1 << 20);
	free(kept[0]);
	_exit(0);
}

/* ---- over and over ---- */

#define PLACES 64u

static uint32_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % n;
}

static char *place(void)
{
	return area + any(PLACES) * PAGE;
}

static size_t some(void)
{
	return (1 + any(40)) * PAGE;
}

static void churn_break(void)
{
	static intptr_t risen;
	const intptr_t by = (intptr_t)any(9 * PAGE) - (intptr_t)any(9 * PAGE);

	if (risen + by >= 0 && sbrk(by) != (void *)-1)
		risen += by;
}

/* A mapping to be moved may be gone: then mremap() fails without effect. */
static void churn_once(void)
{
	switch (any(6)) {
	case 0:
		map(place(), some(), MAP_FIXED);
		break;
	case 1:
		map(place() + PLACES * PAGE, PAGE, MAP_FIXED);
		break;
	case 2:
		munmap(place(), some());
		break;
	case 3:
		mremap(place(), PAGE, some(), MREMAP_MAYMOVE | MREMAP_FIXED, area + 3 * PLACES * PAGE);
		break;
	case 4:
		mremap(place(), PAGE, 2 * PAGE, 0);
		break;
	default:
		churn_break();
	}
}

static void churn(size_t n)
{
	pid_t pid = -1;

	area = map(NULL, 4 * PLACES * PAGE, 0);
	for (size_t i = 0; i < n; i++) {
		if (i == n / 3)
			pid = fork();
		churn_once();
	}
	if (pid == 0)
		_exit(0);
	must(waitpid(pid, &status, 0) == pid && status == 0, "a child");
}

/* ---- what is mapped ---- */

/* Prints without stdio, whose buffers would be mapped first. */
static void tell_maps(void)
{
	static char text[1 << 20];
	unsigned long all = 0, stack = 0, start, end;
	const int fd = open("/proc/self/maps", O_RDONLY);
	size_t n = 0;
	ssize_t got;
	char line[64];

	while ((got = read(fd, text + n, sizeof(text) - n - 1)) > 0)
		n += (size_t)got;
	for (char *at = text; *at; at = strchr(at, '\n') + 1) {
		start = strtoul(at, &at, 16);
		end = strtoul(at + 1, &at, 16);
		if (start >= 1UL << 47)
			break;
		all += end - start;
		if (strstr(at, "[stack]") && strstr(at, "[stack]") < strchr(at, '\n'))
			stack = end - start;
	}
	n = (size_t)snprintf(line, sizeof(line), "%lu %lu\n", all, stack);
	must(write(1, line, n) == (ssize_t)n, "write");
	_exit(0);
}

/* ---- code elsewhere ---- */

static void map_far(void)
{
	char *const at = (char *)((uintptr_t)1 << 40);
	const size_t side = (size_t)3 << 30, size = 2 * side, code = 16 * PAGE;

	must(mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == at,
	     "mmap");
	must(mmap(at + side, code, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
		  open("/proc/self/exe", O_RDONLY), 0) != MAP_FAILED,
	     "mmap");
}

/* ---- under seccomp ---- */

static void install(struct sock_filter *filter, size_t n)
{
	const struct sock_fprog program = { .len = (unsigned short)n, .filter = filter };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

#define LOAD BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IS(number, result)                                                                                   \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, result)

static void run_confined(void)
{
	struct sock_filter filter[] = {
		LOAD,
		IS(SYS_mmap, SECCOMP_RET_ALLOW),
		IS(SYS_munmap, SECCOMP_RET_ALLOW),
		IS(SYS_mremap, SECCOMP_RET_ALLOW),
		IS(SYS_brk, SECCOMP_RET_ALLOW),
		IS(SYS_shmdt, SECCOMP_RET_ALLOW),
		IS(SYS_write, SECCOMP_RET_ALLOW),
		IS(SYS_getpid, SECCOMP_RET_ALLOW), /* the recorder calls it at the end, with any options */
		IS(SYS_futex, SECCOMP_RET_ALLOW),
		IS(SYS_exit_group, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const int fd = open("/proc/self/exe", O_RDONLY);

	attach();
	map_area();
	kept[40] = malloc(1); /* malloc's first call sets up its heap */
	install(filter, sizeof(filter) / sizeof(*filter));
	for (int i = 0; i < 100; i++) {
		void *p = map(NULL, PAGE, 0);

		must(munmap(p, PAGE) == 0, "munmap");
	}
	must(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mmap");
	grow_and_move();
	raise_break();
	large_blocks();
	detach();
	must(write(1, "alive\n", 6) == 6, "write");
	_exit(0);
}

static void run_asking(void)
{
	const uint32_t action = SECCOMP_RET_KILL_PROCESS;
	const int fd = open("/proc/self/exe", O_RDONLY);

	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0, "prctl");
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) < 0, "seccomp");
	must(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0, "seccomp");
	must(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mmap");
	_exit(0);
}

static volatile int traps;

static void on_trap(int number, siginfo_t *info, void *context)
{
	(void)number;
	traps += info->si_syscall == SYS_mmap;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static void run_trapped(void)
{
	struct sock_filter filter[] = {
		LOAD,
		IS(SYS_mmap, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	char line[32];
	int n;

	must(sigaction(SIGSYS, &action, NULL) == 0, "sigaction");
	install(filter, sizeof(filter) / sizeof(*filter));
	for (int i = 0; i < 10; i++)
		must(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
			     errno == EPERM,
		     "failing");
	n = snprintf(line, sizeof(line), "%d traps\n", traps);
	must(write(1, line, (size_t)n) == n, "write");
	_exit(0);
}

int main(int argc, char **argv)
{
	const size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (argc == 2 && strcmp(argv[1], "list") == 0) {
		printf("%zu\n", N_STEPS);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "placed") == 0)
		run_placed();
	if (argc == 2 && strcmp(argv[1], "asking") == 0)
		run_asking();
	if (argc == 2 && strcmp(argv[1], "confined") == 0)
		run_confined();
	if (argc == 2 && strcmp(argv[1], "trapped") == 0)
		run_trapped();
	if (argc == 2 && strcmp(argv[1], "far") == 0)
		map_far();
	if (argc == 3 && strcmp(argv[1], "churn") == 0)
		churn(strtoul(argv[2], NULL, 10));
	for (size_t i = 0; i < n && i < N_STEPS; i++)
		steps[i]();
	tell_maps();
}
