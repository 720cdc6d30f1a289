/* SPDX-License-Identifier: MIT */
/* msrec: runs a program and records what it does with its heap. */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector.h"
#include "counter.h"
#include "engine.h"
#include "help.h"
#include "launch.h"
#include "mst_limits.h"
#include "mstrace.h"
#include "shm.h"
#include "streams.h"

const char *argp_program_version = "msrec " MSREC_VERSION;

#define MAX_SIZE_MIN (64u << 10)

static const char doc[] =
	"Run PROGRAM and record every allocation it makes, with its stack, to a trace that msreplay and "
	"msconvert read.\v"
	"%p in FILE stands for the process id, %e for the program's name, %n for the number of the file, "
	"%q{VAR} for an environment variable, %% for %. Options in the environment variable MSREC_OPTS come "
	"first.\n\n"
	"Exit status: the program's; if a signal killed it, msrec dies of the same signal. 125 if msrec itself "
	"failed, 126 if PROGRAM cannot be executed, 127 if it was not found.\n\n"
	"Example:\n"
	"  msrec -o app.zst ./app --its-own-option\n"
	"  msreplay --massif-out-file=- app.zst | ms_print /dev/stdin";

enum {
	OPT_TRACE_CHILDREN = 0x100,
	OPT_DEPTH,
	OPT_IDENTITY,
	OPT_NO_ARGS,
	OPT_FREE_STACKS,
	OPT_USABLE,
	OPT_MMAP,
	OPT_PAGES,
	OPT_STACKS,
	OPT_TIMER,
	OPT_INSTRUCTIONS,
	OPT_SAMPLE,
	OPT_LIBC_FREERES,
	OPT_CXX_FREERES,
	OPT_EMBED_SYMBOLS,
	OPT_ENGINE,
	OPT_MAX_SIZE,
	OPT_ROTATE,
	OPT_DURATION,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output:", 1 },
	{ "output", 'o', "FILE", 0, "Write the trace to FILE (trace.%p.zst)", 1 },
	{ "force", 'f', NULL, 0, "Overwrite an existing trace", 1 },
	{ "level", 'z', "N", 0, "zstd level, 1 to 19 (5)", 1 },
	{ "embed-symbols", OPT_EMBED_SYMBOLS, NULL, 0,
	  "At the end, put the names of all frames into the trace, to be read where no program is", 1 },
	{ "max-size", OPT_MAX_SIZE, "SIZE", 0,
	  "End the recording before FILE is larger than SIZE bytes, 64k and up; the program goes on", 1 },
	{ "rotate", OPT_ROTATE, "N", OPTION_ARG_OPTIONAL,
	  "With --max-size, go on in FILE.2, FILE.3 ... instead; keep only the last N files of a process (all)",
	  1 },
	{ "duration", OPT_DURATION, "S", 0, "End the recording after S seconds; the program goes on", 1 },
	{ NULL, 0, NULL, 0, "Recording:", 2 },
	{ "engine", OPT_ENGINE, "preload|valgrind", 0,
	  "Record by a library in the program, or, slowly and exactly, by a tool for Valgrind (preload)", 2 },
	{ "trace-children", OPT_TRACE_CHILDREN, "yes|no", 0,
	  "Record the programs that PROGRAM executes, too (no); forked children always are", 2 },
	{ "depth", OPT_DEPTH, "N", 0, "Keep the N innermost frames of a stack, 1 to 2048 (256)", 2 },
	{ "identity", OPT_IDENTITY, "yes|no", 0,
	  "Record which block a free frees, not just of which kind (yes)", 2 },
	{ "no-args", OPT_NO_ARGS, NULL, 0, "Keep the arguments of programs out of the traces", 2 },
	{ "free-stacks", OPT_FREE_STACKS, "yes|no", 0, "Record the stacks of frees, too (no)", 2 },
	{ "usable", OPT_USABLE, "yes|no", 0, "Record how much the allocator gives, too (no)", 2 },
	{ "mmap", OPT_MMAP, "yes|no", 0,
	  "Record the program's own calls of mmap, mremap and munmap, too (no)", 2 },
	{ "pages", OPT_PAGES, NULL, 0,
	  "Record all calls that map and unmap pages, the C library's too, for msreplay --pages-as-heap", 2 },
	{ "stacks", OPT_STACKS, "yes|no", 0, "Record how deep stacks are at the calls, as memusage does (no)",
	  2 },
	{ "timer", OPT_TIMER, "MS|off", 0,
	  "Look at the stacks after each MS of CPU time, too, by SIGURG; implies --stacks=yes (off)", 2 },
	{ "instructions", OPT_INSTRUCTIONS, "auto|pmu|exact|off", 0,
	  "Record how many instructions were executed at each call, by the processor's counter, or exactly "
	  "by --engine=valgrind (off)",
	  2 },
	{ "sample", OPT_SAMPLE, "BYTES|off", 0,
	  "Record only one block in BYTES bytes, 4k to 1G, by chance; reports are estimates then (off)", 2 },
	{ "run-libc-freeres", OPT_LIBC_FREERES, "yes|no", 0,
	  "At exit, have libc free what it keeps, as Valgrind does (yes)", 2 },
	{ "run-cxx-freeres", OPT_CXX_FREERES, "yes|no", 0, "The same for libstdc++ (yes)", 2 },
	{ NULL, 0, NULL, 0, "Messages:", 3 },
	{ "quiet", 'q', NULL, 0, "Say nothing but errors", 3 },
	{ "verbose", 'v', NULL, 0, "Say more", 3 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static struct {
	struct collector_options collector;
	char **argv;
	int argc;
	int verbosity;
	bool instructions_wanted; /* it is to be told if they cannot be counted */
	/* What lives as long as the program. */
	char *words, **all_words, *path, *exe, *preload, *valgrind;
} config = {
	.collector = {
		.pattern = "trace.%p.zst",
		.depth = 256,
		.identity = true,
		.libc_freeres = true,
		.cxx_freeres = true,
	},
	.verbosity = 1,
};

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list args;

	fputs("msrec: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static bool yes_or_no(struct argp_state *state, const char *option, const char *arg)
{
	if (strcmp(arg, "yes") != 0 && strcmp(arg, "no") != 0)
		argp_error(state, "--%s takes yes or no, not '%s'", option, arg);
	return arg[0] == 'y';
}

static int number(struct argp_state *state, const char *option, const char *arg, int low, int high)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(arg, &end, 10);
	if (errno || end == arg || *end || n < low || n > high)
		argp_error(state, "--%s takes a number from %d to %d, not '%s'", option, low, high, arg);
	return (int)n;
}

/* A number of bytes, maybe with a unit, k to T. 0: it is none. */
static uint64_t bytes(const char *arg)
{
	static const char units[] = "kmgt";
	const char *unit;
	unsigned shift = 0;
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	return errno || *arg < '0' || *arg > '9' || *end || n > UINT64_MAX >> shift ? 0 : n << shift;
}

/* Below MST_SAMPLE_MIN estimates would suffer from being whole numbers. */
static uint64_t sample_interval(struct argp_state *state, const char *arg)
{
	const uint64_t n = bytes(arg);

	if (strcmp(arg, "off") == 0)
		return 0;
	if (n < MST_SAMPLE_MIN || n > MST_SAMPLE_MAX)
		argp_error(state, "--sample takes a number of bytes from 4k to 1G, or off, not '%s'", arg);
	return n;
}

static uint64_t max_size(struct argp_state *state, const char *arg)
{
	const uint64_t n = bytes(arg);

	if (n < MAX_SIZE_MIN || n > INT64_MAX)
		argp_error(state, "--max-size takes a number of bytes, 64k and up, not '%s'", arg);
	return n;
}

static void rotate(struct argp_state *state, const char *arg)
{
	config.collector.rotates = true;
	config.collector.kept = arg ? (uint32_t)number(state, "rotate", arg, 1, 1000000) : 0;
}

static void choose_instructions(struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "exact") == 0) {
		config.collector.exact = true;
		return;
	}
	if (strcmp(arg, "auto") != 0 && strcmp(arg, "pmu") != 0 && strcmp(arg, "off") != 0)
		argp_error(state, "--instructions takes auto, pmu, exact or off, not '%s'", arg);
	config.collector.instructions = strcmp(arg, "off") != 0;
	config.instructions_wanted = strcmp(arg, "pmu") == 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct collector_options *c = &config.collector;

	switch (key) {
	case 'o':
		c->pattern = arg;
		return 0;
	case 'f':
		c->overwrite = true;
		return 0;
	case 'z':
		c->level = number(state, "level", arg, 1, 19);
		return 0;
	case OPT_TRACE_CHILDREN:
		c->trace_children = yes_or_no(state, "trace-children", arg);
		return 0;
	case OPT_DEPTH:
		c->depth = (uint32_t)number(state, "depth", arg, 1, SHM_DEPTH_MAX);
		return 0;
	case OPT_IDENTITY:
		c->identity = yes_or_no(state, "identity", arg);
		return 0;
	case OPT_NO_ARGS:
		c->no_args = true;
		return 0;
	case OPT_FREE_STACKS:
		c->free_stacks = yes_or_no(state, "free-stacks", arg);
		return 0;
	case OPT_USABLE:
		c->usable = yes_or_no(state, "usable", arg);
		return 0;
	case OPT_MMAP:
		c->maps = yes_or_no(state, "mmap", arg);
		return 0;
	case OPT_PAGES:
		c->pages = true;
		return 0;
	case OPT_STACKS:
		c->stacks = yes_or_no(state, "stacks", arg);
		return 0;
	case OPT_TIMER:
		c->timer_ms = strcmp(arg, "off") == 0 ? 0 : (uint32_t)number(state, "timer", arg, 1, 1000000);
		return 0;
	case OPT_INSTRUCTIONS:
		choose_instructions(state, arg);
		return 0;
	case OPT_SAMPLE:
		c->sample_bytes = sample_interval(state, arg);
		return 0;
	case OPT_LIBC_FREERES:
		c->libc_freeres = yes_or_no(state, "run-libc-freeres", arg);
		return 0;
	case OPT_CXX_FREERES:
		c->cxx_freeres = yes_or_no(state, "run-cxx-freeres", arg);
		return 0;
	case OPT_ENGINE:
		if (strcmp(arg, "preload") != 0 && strcmp(arg, "valgrind") != 0)
			argp_error(state, "--engine is preload or valgrind, not '%s'", arg);
		c->exact = arg[0] == 'v';
		return 0;
	case OPT_EMBED_SYMBOLS:
		c->embed_symbols = true;
		return 0;
	case OPT_MAX_SIZE:
		c->max_bytes = max_size(state, arg);
		return 0;
	case OPT_ROTATE:
		rotate(state, arg);
		return 0;
	case OPT_DURATION:
		c->duration_s = (uint32_t)number(state, "duration", arg, 1, 1000000000);
		return 0;
	case 'q':
		config.verbosity = 0;
		return 0;
	case 'v':
		config.verbosity++;
		return 0;
	case ARGP_KEY_END:
		if (c->rotates && !c->max_bytes)
			argp_error(state, "--rotate needs --max-size");
		return 0;
	case ARGP_KEY_ARGS:
		config.argv = state->argv + state->next;
		config.argc = state->argc - state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The words of MSREC_OPTS between our name and the real arguments. */
static char **prepend_environment(int *argc, char **argv)
{
	const char *text = getenv("MSREC_OPTS");
	char *copy, **all, *save = NULL;
	int n = 0;

	if (!text)
		return argv;
	copy = config.words = strdup(text);
	all = config.all_words = calloc((size_t)*argc + strlen(text) + 2, sizeof(*all));
	if (!copy || !all)
		return argv;
	all[n++] = argv[0];
	for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save))
		all[n++] = word;
	for (int i = 1; i < *argc; i++)
		all[n++] = argv[i];
	*argc = n;
	return all;
}

/* A file of ours: beside us in a build tree, else where it is installed. */
static char *find_part(const char *folder, const char *name)
{
	const char *const places[] = { folder, "../" MSREC_LIBDIR "/msrec" };
	char self[4096], *slash, *path;
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		char *real;

		if (asprintf(&path, "%.*s/%s/%s", (int)(slash - self), self, places[i], name) < 0)
			return NULL;
		real = realpath(path, NULL);
		free(path);
		if (real)
			return real;
	}
	return NULL;
}

/* A library for the program; NULL after a message: it isn't there, or the loader would take its path for several. */
static char *find_library(const char *name)
{
	char *path = find_part("preload", name);

	if (!path)
		complain("%s is neither beside this program nor where it was installed", name);
	else if (!strpbrk(path, " :"))
		return path;
	else
		complain("%s: the loader takes no library (LD_PRELOAD) whose path has a blank or a colon",
			 path);
	free(path);
	return NULL;
}

/* The library that records and, with --pages, behind it the one that patches system calls. NULL after a message. */
static char *find_preload(void)
{
	char *recorder = find_library("libmsrec.so"), *pages, *both = NULL;

	if (!recorder || !config.collector.pages)
		return recorder;
	pages = find_library("libmsrec-pages.so");
	if (pages && asprintf(&both, "%s:%s", recorder, pages) < 0)
		both = NULL;
	free(pages);
	free(recorder);
	return both;
}

/* Whether the program would find the recorder's memory by our number; else false after a message. */
static bool can_be_found(void)
{
	char self[32] = { 0 };

	if (readlink("/proc/self", self, sizeof(self) - 1) < 0)
		complain("/proc is not mounted: a program could not reach its recorder");
	else if (strtol(self, NULL, 10) != getpid())
		complain("/proc is that of other processes (unshare --mount-proc mounts the right one): "
			 "a program could not reach its recorder");
	else
		return true;
	return false;
}

/* What starts our tool for Valgrind; NULL after a message: it isn't there. */
static char *find_valgrind(void)
{
	char *tool = find_part(".", "valgrind/msrec-amd64-linux"), *slash, *starter = NULL;

	if (!tool) {
		complain(
			"--engine=valgrind: msrec was built without it, because Valgrind's headers and static "
			"libraries were not there");
		return NULL;
	}
	slash = strrchr(tool, '/');
	if (asprintf(&starter, "%.*s/valgrind", (int)(slash - tool), tool) < 0)
		starter = NULL;
	/* The link to Valgrind's script, where that is a script. */
	if (starter && faccessat(AT_FDCWD, starter, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
		free(starter);
		if (asprintf(&starter, "%.*s/valgrind.bin", (int)(slash - tool), tool) < 0)
			starter = NULL;
	}
	free(tool);
	if (starter && access(starter, X_OK) != 0) {
		complain("--engine=valgrind: Valgrind is not installed (%s: %s)", starter, strerror(errno));
		free(starter);
		return NULL;
	}
	return starter;
}

static void report(const struct collector_report *r)
{
	const char *reason = r->error == MST_ERR_IO ? strerror(r->error_number) : mst_strerror(r->error);

	if (r->refused) {
		complain("process %d is not recorded: %s%s%s", (int)r->refused, r->path ? r->path : "",
			 r->path ? ": " : "", reason);
		return;
	}
	if (r->waiting) {
		fprintf(stderr, "msrec: %s: %s; waiting for room, events may be lost\n", r->path,
			strerror(r->error_number));
		return;
	}
	if (r->unfinished) {
		fprintf(stderr,
			"msrec: %s: looking names up was killed; they and the end are not in the trace\n",
			r->path);
		return;
	}
	if (r->error)
		fprintf(stderr, "msrec: %s: cannot be written: %s\n", r->path, reason);
	if (!r->recorded)
		fprintf(stderr, "msrec: %s: the program did not load the recorder; nothing is in the trace\n",
			r->path);
	for (size_t i = 0; i < r->notices->n && config.verbosity > 0; i++)
		fprintf(stderr, "msrec: %s: %s\n", r->path, r->notices->text[i]);
	if (r->executed && config.verbosity > 0)
		fprintf(stderr, "msrec: %s: ends where the program executed another one%s\n", r->path,
			config.collector.trace_children ? "" : " (--trace-children=yes records that too)");
	if (r->stopped && config.verbosity > 0)
		fprintf(stderr, "msrec: %s: recording has ended, the program goes on\n", r->path);
	if (r->next && config.verbosity > 0)
		fprintf(stderr, "msrec: %s: goes on in %s\n", r->path, r->next);
	if (config.verbosity > 0)
		fprintf(stderr, "msrec: %s: %llu events, %llu lost, %.2f bytes/event\n", r->path,
			(unsigned long long)r->events, (unsigned long long)r->lost,
			r->events ? (double)r->bytes / (double)r->events : 0.0);
}

/* ---- signals ---- */

/* The program: a pidfd, since its number may be another process's when it is gone. */
static volatile sig_atomic_t child_fd;
static struct collector *the_collector;

static void forward(int signal_number)
{
	const int saved = errno;

	if (syscall(SYS_pidfd_send_signal, child_fd, signal_number, NULL, 0) != 0)
		collector_pass_on(the_collector, signal_number);
	errno = saved;
}

static void wake_up(int signal_number)
{
	(void)signal_number;
	collector_wake(the_collector);
}

/*
 * The terminal's signals reach the program by themselves; what is sent to us is passed on, when the program is gone to
 * those that it has left.
 */
static void catch_signals(struct collector *collector, pid_t pid)
{
	static const int forwarded[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	struct sigaction action = { .sa_handler = wake_up };

	child_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	the_collector = collector;
	sigaction(SIGCHLD, &action, NULL);
	action.sa_handler = forward;
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaction(forwarded[i], &action, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* Ends as the program ended. */
__attribute__((noreturn)) static void end_like(int status)
{
	if (WIFSIGNALED(status)) {
		const struct rlimit no_core = { 0, 0 };
		sigset_t all;

		setrlimit(RLIMIT_CORE, &no_core);
		signal(WTERMSIG(status), SIG_DFL);
		sigfillset(&all);
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		raise(WTERMSIG(status));
		exit(128 + WTERMSIG(status));
	}
	exit(WEXITSTATUS(status));
}

/* ---- the run ---- */

/*
 * From here on msrec needs nothing that is the program's, and more descriptors than a program usually may have. Who reads
 * what the program writes shall see its end.
 */
static void go_aside(void)
{
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct rlimit files;

	if (nothing >= 0) {
		dup2(nothing, STDIN_FILENO);
		dup2(nothing, STDOUT_FILENO);
	}
	if (nothing > STDOUT_FILENO)
		close(nothing);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* Starts the program and gives it its file. 0, or msrec's exit status after a message. */
static int start(struct collector *collector, struct launch *launch)
{
	char **command = NULL;
	char *problem;
	int err;

	if (config.valgrind)
		command = engine_command(config.valgrind, collector_shm_path(collector), &config.collector);
	if ((config.valgrind && !command) ||
	    launch_start(launch, command ? config.valgrind : config.path, command ? command : config.argv,
			 config.preload, SHM_ENV, collector_shm_path(collector)) != 0) {
		complain("cannot start a process: %s", strerror(errno));
		engine_command_free(command);
		return LAUNCH_FAILED;
	}
	engine_command_free(command);
	problem = collector_prepare(collector, launch->pid);
	if (problem) {
		launch_cancel(launch);
		complain("%s", problem);
		free(problem);
		return LAUNCH_FAILED;
	}
	catch_signals(collector, launch->pid);
	err = launch_go(launch);
	if (err) {
		collector_discard(collector);
		complain("%s: %s", config.path, strerror(err));
		return err == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_CANNOT_EXECUTE;
	}
	collector_settle(collector);
	go_aside();
	return 0;
}

/* Records; ends as the program ended, or returns msrec's own exit status. */
static int record(void)
{
	struct collector *collector = collector_create(&config.collector, report);
	struct launch launch;
	int failed, status = 0;

	if (!collector) {
		complain(
			"cannot make shared memory: %s%s", strerror(errno),
			errno == EFBIG ? " (the limit on file sizes, ulimit -f, holds for it too)"
			: errno == ENOMEM
				? " (is there a limit on address space, ulimit -v? Nearly all of it stays empty)"
				: "");
		return LAUNCH_FAILED;
	}
	failed = start(collector, &launch);
	if (!failed) {
		status = collector_run(collector, launch.pid);
		if (collector_unrecorded(collector))
			complain(
				"%u processes were not recorded: too many at a time, or no room in their address space",
				collector_unrecorded(collector));
		if (collector_uncounted(collector))
			complain("--instructions: those of %u threads could not be counted",
				 collector_uncounted(collector));
		if (collector_untimed(collector))
			complain("--timer: the stacks of %u threads were seen at calls only",
				 collector_untimed(collector));
	}
	signal(SIGCHLD, SIG_DFL);
	collector_destroy(collector);
	if (!failed)
		end_like(status);
	return failed;
}

/* What the tool for Valgrind does, or doesn't do. False after a message. */
static bool settle_engine(void)
{
	struct collector_options *c = &config.collector;
	const char *refused = c->sample_bytes ? "--sample"
			      : c->timer_ms   ? "--timer"
			      : c->maps       ? "--mmap"
			      : c->max_bytes  ? "--max-size"
			      : c->duration_s ? "--duration"
					      : NULL;

	if (!c->exact)
		return true;
	if (refused)
		complain("%s is for --engine=preload alone", refused);
	c->usable = true;
	c->instructions = false; /* the processor's, that is */
	return !refused;
}

/* Without a counter the recording goes on without counts. */
static void settle_instructions(void)
{
	struct counter counter;
	int err = config.collector.instructions ? counter_open(&counter) : 0;

	if (!config.collector.instructions)
		return;
	if (err == 0) {
		counter_close(&counter);
		return;
	}
	config.collector.instructions = false;
	if (!config.instructions_wanted && config.verbosity < 2)
		return;
	if (err == -EACCES || err == -EPERM)
		complain(
			"instructions are not counted: it is not allowed (/proc/sys/kernel/perf_event_paranoid)");
	else if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENOSYS)
		complain("instructions are not counted: this machine offers no counter for them");
	else
		complain("instructions are not counted: %s", strerror(-err));
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "PROGRAM [ARG...]", .doc = doc
	};
	char *objection, *remark;
	error_t error;
	int status;

	streams_hold();
	argp_err_exit_status = LAUNCH_FAILED;
	argv = prepend_environment(&argc, argv);
	error = help_parse("msrec", LAUNCH_FAILED, &argp, argc, argv, ARGP_IN_ORDER, NULL);
	if (error) {
		complain("%s", strerror(error));
		return LAUNCH_FAILED;
	}
	if (config.argc == 0) {
		complain("no program given; 'msrec --help' tells more");
		return LAUNCH_FAILED;
	}
	if (!settle_engine())
		return LAUNCH_FAILED;
	config.path = launch_find(config.argv[0], &status);
	if (!config.path) {
		complain("%s: %s", config.argv[0], strerror(errno));
		return status;
	}
	objection = launch_objection(config.path, config.collector.exact, &remark);
	if (objection) {
		complain("%s %s", config.path, objection);
		free(objection);
		return LAUNCH_FAILED;
	}
	if (remark && config.verbosity > 0)
		complain("%s %s", config.path, remark);
	free(remark);
	if (!can_be_found())
		return LAUNCH_FAILED;
	if (config.collector.exact)
		config.valgrind = find_valgrind();
	else
		config.preload = find_preload();
	if (!config.preload && !config.valgrind)
		return LAUNCH_FAILED;
	/* What the libraries free at the very end is of no weight, and takes time. */
	if (config.collector.sample_bytes)
		config.collector.libc_freeres = config.collector.cxx_freeres = false;
	settle_instructions();
	config.exe = realpath(config.path, NULL);
	config.collector.exe = config.exe ? config.exe : config.path;
	config.collector.argc = config.argc;
	config.collector.argv = config.argv;
	return record();
}
