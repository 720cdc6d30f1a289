/* SPDX-License-Identifier: MIT */
#include "players.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "words.h"

#define LOOK_NS 20000000 /* a player that died is noticed so soon */
#define PAUSE_NS 200000  /* between looks whether players are ready */
#define SHADOW_SIZE ((off_t)((((uint64_t)1 << SHADOW_BITS) / SHADOW_GRAIN) * sizeof(uint32_t)))

/* ---- Processes ---- */

/* Variables that change an allocator's behaviour; only those that were asked for are set. */
static bool is_setting(const char *variable)
{
	static const char *const prefixes[] = { "MALLOC_",   "GLIBC_TUNABLES=", "TCMALLOC_",
						"MIMALLOC_", "_RJEM_",          "JEMALLOC_" };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

/* A setup's LD_PRELOAD, before what the caller's environment has. NULL: no memory. */
static char *preload_of(const struct player_setup *setup)
{
	const char *before = getenv("LD_PRELOAD");
	char *text;
	const int n = asprintf(&text, "LD_PRELOAD=%s%s%s", setup->preload ? setup->preload : "",
			       setup->preload && before ? ":" : "", before ? before : "");
	return n < 0 ? NULL : text;
}

/* NULL: no memory. The list is the caller's to free; `preload` is in it. */
static const char **make_environment(const struct player_setup *setup, const char *preload)
{
	const char **list = NULL;
	size_t n = 0;
	int error = 0;
	for (char **at = environ; *at && !error; at++) {
		if (!is_setting(*at) && strncmp(*at, "LD_PRELOAD=", 11) != 0)
			error = words_append(&list, &n, *at);
	}
	for (size_t i = 0; i < setup->n_variables && !error; i++)
		error = words_append(&list, &n, setup->variables[i]);
	if (!error)
		error = words_append(&list, &n, preload);
	if (!error)
		error = words_append(&list, &n, NULL);
	if (!error)
		return list;
	free(list);
	return NULL;
}

/* In the child. The same addresses in each run make the runs comparable. */
static void become_player(const struct players_plan *plan, const int fds[3], char *const *environment,
			  pid_t parent)
{
	char texts[3][16];
	char name[] = "msrec-player";
	char *argv[] = { name, texts[0], texts[1], fds[2] >= 0 ? texts[2] : NULL, NULL };
	const struct rlimit none = { 0 };
	const struct rlimit most = { plan->limit_bytes, plan->limit_bytes };
	for (int i = 0; i < 3; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%d", fds[i]);
		if (fds[i] >= 0 && fcntl(fds[i], F_SETFD, 0) < 0)
			_exit(PLAYER_SETUP);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(PLAYER_SETUP); /* it ended before that */
	personality(ADDR_NO_RANDOMIZE);
	setrlimit(RLIMIT_CORE, &none);
	if (plan->limit_bytes)
		setrlimit(RLIMIT_DATA, &most);
	execve(plan->program, argv, environment);
	_exit(PLAYER_SETUP);
}

/* 0, or -errno. */
static int spawn(struct player_process *p, const struct players *players, const struct players_plan *plan,
		 const struct player_setup *setup)
{
	const int fds[3] = { players->ring_fd, p->area_fd, p->shadow_fd };
	char *preload = preload_of(setup);
	const char **environment = preload ? make_environment(setup, preload) : NULL;
	int error = environment ? 0 : -ENOMEM;
	if (!error) {
		const pid_t parent = getpid();
		p->pid = fork();
		if (p->pid == 0)
			become_player(plan, fds, (char *const *)environment, parent);
		error = p->pid < 0 ? -errno : 0;
	}
	free(environment);
	free(preload);
	return error;
}

/* A file without a name, mapped. NULL: errno. */
static void *make_memory(const char *name, size_t size, int *fd)
{
	*fd = memfd_create(name, MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, (off_t)size) < 0)
		return NULL;
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* 0, or -errno. */
static int start_one(struct player_process *p, const struct players *players, const struct players_plan *plan,
		     const struct player_setup *setup)
{
	p->area_size = player_area_size(plan->n_samples, plan->n_slots, setup->shadow);
	p->area = make_memory("msrec-player-area", p->area_size, &p->area_fd);
	if (!p->area)
		return -errno;
	p->area->layout = sizeof(*p->area);
	p->area->n_samples = plan->n_samples;
	p->area->n_threads = plan->n_threads;
	p->area->n_slots = plan->n_slots;
	p->area->counts = setup->counts;
	p->area->trim_ns = setup->trim_ns;
	p->area->touched = plan->touched;
	if (setup->shadow) {
		p->shadow_fd = memfd_create("msrec-player-shadow", MFD_CLOEXEC);
		if (p->shadow_fd < 0 || ftruncate(p->shadow_fd, SHADOW_SIZE) < 0)
			return -errno;
	}
	return spawn(p, players, plan, setup);
}

/* ---- The ring ---- */

static bool is_preloaded(const struct player_process *p, const struct player_setup *setup)
{
	if (!setup->preload)
		return true;
	char *wanted = realpath(setup->preload, NULL), *found = realpath(p->area->library, NULL);
	const bool same = wanted && found && strcmp(wanted, found) == 0;
	free(wanted);
	free(found);
	return same;
}

/* Looks whether a player has ended. */
static void look_after(struct player_process *p)
{
	int status;
	if (p->end != PLAYER_RUNS || p->pid <= 0 || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	p->pid = 0;
	p->detail = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	if (WIFSIGNALED(status))
		p->end = PLAYER_KILLED;
	else
		p->end = p->detail == PLAYER_DONE && p->area->end_ns ? PLAYER_ENDED : PLAYER_FAILED;
}

static void end_player(struct player_process *p, enum player_end end)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
	p->end = end;
}

/* The same after a wait for players that have something to do: a call may be one that never returns. */
static void look_again(const struct players *players, struct player_process *p, uint64_t waited_ns)
{
	const uint64_t begun = __atomic_load_n(&p->area->begun, __ATOMIC_RELAXED);
	look_after(p);
	if (p->end != PLAYER_RUNS)
		return;
	const bool done =
		p->area->ready && __atomic_load_n(&p->area->tail, __ATOMIC_ACQUIRE) >= players->head;
	p->idle_ns = done || begun != p->begun ? 0 : p->idle_ns + waited_ns;
	p->begun = begun;
	if (p->idle_ns >= players->patience_ns)
		end_player(p, PLAYER_STUCK);
}

/* The operations that all running players have made; UINT64_MAX: none runs. */
static uint64_t slowest(const struct players *players)
{
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < players->n; i++) {
		const struct player_process *p = &players->items[i];
		const uint64_t tail = p->end == PLAYER_RUNS
					      ? __atomic_load_n(&p->area->tail, __ATOMIC_ACQUIRE)
					      : UINT64_MAX;
		least = tail < least ? tail : least;
	}
	return least;
}

/* Waits for a player to go on or to end. */
static void wait_for_players(struct players *players, uint32_t read)
{
	const struct timespec most = { .tv_nsec = LOOK_NS };
	if (syscall(SYS_futex, &players->ring->read, FUTEX_WAIT, read, &most, NULL, 0) == 0)
		return;
	for (size_t i = 0; i < players->n; i++)
		look_again(players, &players->items[i], LOOK_NS);
}

/* Until all have made more than `target` operations, or none runs. */
static void wait_until_past(struct players *players, uint64_t target)
{
	for (;;) {
		const uint32_t read = __atomic_load_n(&players->ring->read, __ATOMIC_ACQUIRE);
		if (slowest(players) >= target)
			return;
		wait_for_players(players, read);
	}
}

void players_flush(struct players *players)
{
	__atomic_store_n(&players->ring->head, players->head, __ATOMIC_RELEASE);
	__atomic_add_fetch(&players->ring->written, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &players->ring->written, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* An operation of players->head + 1 must not overwrite one that a player has yet to make, or prefetches. */
static int make_room(struct players *players)
{
	players_flush(players);
	wait_until_past(players, players->head < PLAYER_RING / 2 ? 0 : players->head - PLAYER_RING / 2);
	players->limit = players->head + PLAYER_STEP;
	return slowest(players) == UINT64_MAX ? MST_ERR_IO : 0;
}

static int put(struct op_sink *sink, const struct player_op *op)
{
	struct players *const players = (struct players *)sink;
	if (players->head == players->limit) {
		const int error = make_room(players);
		if (error)
			return error;
	}
	players->ring->ops[players->head++ % PLAYER_RING] = *op;
	return 0;
}

/* ---- Beginning and end ---- */

/* A player that could not begin has ended. */
static void wait_until_ready(struct players *players, const struct player_setup *setups)
{
	for (size_t i = 0; i < players->n; i++) {
		struct player_process *p = &players->items[i];
		while (p->end == PLAYER_RUNS && !__atomic_load_n(&p->area->ready, __ATOMIC_ACQUIRE)) {
			const struct timespec pause = { .tv_nsec = PAUSE_NS };
			nanosleep(&pause, NULL);
			look_again(players, p, PAUSE_NS);
		}
		p->idle_ns = 0;
		if (p->end == PLAYER_RUNS && !is_preloaded(p, &setups[i]))
			end_player(p, PLAYER_NOT_PRELOADED);
	}
}

int players_start(struct players *players, const struct players_plan *plan, const struct player_setup *setups,
		  size_t n)
{
	*players =
		(struct players){ .sink = { .put = put }, .ring_fd = -1, .patience_ns = plan->patience_ns };
	players->items = calloc(n, sizeof(*players->items));
	if (!players->items)
		return -ENOMEM;
	players->n = n;
	for (size_t i = 0; i < n; i++)
		players->items[i].area_fd = players->items[i].shadow_fd = -1;
	players->ring = make_memory("msrec-player-ring", sizeof(*players->ring), &players->ring_fd);
	if (!players->ring)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		const int error = start_one(&players->items[i], players, plan, &setups[i]);
		if (error)
			return error;
	}
	wait_until_ready(players, setups);
	return 0;
}

int players_measure_base(const struct players_plan *plan, struct player_sample *base)
{
	const struct player_setup setup = { 0 };
	struct players players;
	int error = players_start(&players, plan, &setup, 1);
	if (!error && players.items[0].end != PLAYER_RUNS)
		error = -ECHILD;
	if (!error)
		*base = players.items[0].area->base;
	players_finish(&players);
	return error;
}

void players_wait(struct players *players, bool ended)
{
	players_flush(players);
	wait_until_past(players, players->head);
	for (size_t i = 0; ended && i < players->n; i++) {
		struct player_process *p = &players->items[i];
		while (p->end == PLAYER_RUNS && p->pid > 0) {
			siginfo_t info;
			waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT);
			look_after(p);
		}
	}
}

void players_go(struct players *players)
{
	for (size_t i = 0; i < players->n; i++) {
		uint32_t *const go = &players->items[i].area->go;
		__atomic_add_fetch(go, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, go, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	}
}

static void finish_one(struct player_process *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	if (p->area)
		munmap(p->area, p->area_size);
	if (p->area_fd >= 0)
		close(p->area_fd);
	if (p->shadow_fd >= 0)
		close(p->shadow_fd);
}

void players_finish(struct players *players)
{
	for (size_t i = 0; i < players->n; i++)
		finish_one(&players->items[i]);
	if (players->ring)
		munmap(players->ring, sizeof(*players->ring));
	if (players->ring_fd >= 0)
		close(players->ring_fd);
	free(players->items);
	*players = (struct players){ .ring_fd = -1 };
}
