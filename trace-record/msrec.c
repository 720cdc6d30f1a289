/* SPDX-License-Identifier: MIT */
/* msrec: runs a program and records what it does with its heap. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attachment.h"
#include "census.h"
#include "collector.h"
#include "command.h"
#include "command_line.h"
#include "control_command.h"
#include "counter.h"
#include "engine.h"
#include "entry_plan.h"
#include "installed.h"
#include "last_lines.h"
#include "launch.h"
#include "messages.h"
#include "run_check.h"
#include "shm.h"
#include "streams.h"

static struct {
	struct command_line line;
	char *path, *exe;         /* of the program: as found, without symbolic links */
	char *preload, *valgrind; /* the recorder: one of them */
	struct entry_plan plan;   /* for an allocator that is linked into the program */
} config;

/* ---- signals ---- */

/* A pidfd of the program: its pid may be reused when it is gone. */
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
 * The terminal's signals reach the program by themselves. Signals sent to msrec are passed on to the program and, when it is
 * gone, to the recorded processes that it left.
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

/* The program is gone, and the collector: nothing passes signals on. */
static void release_signals(void)
{
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
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
 * Gives up the program's standard streams, so that a reader of its output sees the end; allows msrec as many descriptors as
 * the hard limit.
 */
static void release_streams(void)
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
		command =
			engine_command(config.valgrind, collector_shm_path(collector), &config.line.options);
	if ((config.valgrind && !command) ||
	    launch_start(launch, command ? config.valgrind : config.path,
			 command ? command : config.line.argv, config.preload, SHM_ENV,
			 collector_shm_path(collector)) != 0) {
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
	release_streams();
	return 0;
}

/* Whether the program exited with 0. */
static bool has_succeeded(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What --check says counts if the program itself did not fail. */
static int check(const struct collector_gaps *gaps, int status)
{
	const struct capture_options *capture = &config.line.options.capture;

	return check_traces(&config.line.check, &(struct check_run){
							.program = config.path,
							.only = capture->children_only,
							.blind = gaps->unrecorded || gaps->unsaid,
							.succeeded = has_succeeded(status),
							.verbosity = config.line.verbosity,
						});
}

static void cancel_pushes(int signal_number)
{
	(void)signal_number;
	collector_cancel_pushes(the_collector);
}

/* The program is gone, or left alone; signals end the pushes, and msrec goes on to its last lines. */
static void push_rest(struct collector *collector)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction action = { .sa_handler = cancel_pushes };
	struct push_counts counts;
	uint32_t missed;

	if (!config.line.options.push.command)
		return;
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaction(ending[i], &action, NULL);
	counts = collector_push_rest(collector);
	missed = counts.waiting + counts.given_up;
	if (missed)
		complain(
			"profiles pushed: %u; not pushed: %u, %u of them with their traces still there; at last %s",
			counts.pushed, missed, counts.waiting, *counts.why ? counts.why : "a signal");
	else if (config.line.verbosity > 0 && counts.failures)
		complain("profiles pushed: %u; attempts that failed: %u, at last %s", counts.pushed,
			 counts.failures, counts.why);
	else if (config.line.verbosity > 0)
		complain("profiles pushed: %u", counts.pushed);
}

/* What was not recorded as asked for. */
static void report_gaps(const struct collector_gaps *gaps)
{
	if (gaps->unrecorded)
		complain(
			"%u processes were not recorded: too many at a time, or no room in their address space",
			gaps->unrecorded);
	if (gaps->left_out && config.line.verbosity > 0)
		complain("%u forked children were not recorded: -o - takes the trace of one process",
			 gaps->left_out);
	if (gaps->unsaid && config.line.verbosity > 0)
		complain("%u more programs were executed that could not be recorded", gaps->unsaid);
	if (gaps->uncounted)
		complain("--instructions: those of %u threads could not be counted", gaps->uncounted);
	if (gaps->untimed)
		complain("--timer: the stacks of %u threads were seen at calls only", gaps->untimed);
}

/* Records; ends as the program ended, or returns msrec's own exit status. */
static int record(void)
{
	struct collector *collector = collector_create(&config.line.options, messages_report);
	struct collector_gaps gaps = { 0 };
	struct launch launch;
	int failed, status = 0;

	if (!collector) {
		complain(
			"cannot make shared memory: %s%s", strerror(errno),
			errno == EFBIG ? " (the limit on file sizes, ulimit -f, holds for it too)"
			: errno == ENOMEM
				? " (is there a limit on address space, ulimit -v? Nearly all of it stays empty)"
			: errno == EPERM || errno == ENOSYS
				? " (a seccomp filter, as containers have one, or the kernel denies memfd_create)"
				: "");
		return LAUNCH_FAILED;
	}
	failed = start(collector, &launch);
	if (!failed) {
		status = collector_run(collector, launch.pid);
		gaps = collector_gaps(collector);
		report_gaps(&gaps);
		push_rest(collector);
	}
	signal(SIGCHLD, SIG_DFL);
	collector_destroy(collector);
	release_signals();
	if (!failed && config.line.verbosity > 0)
		last_lines_print(&(struct last_lines){
			.capture = &config.line.options.capture,
			.verbosity = config.line.verbosity,
			.shell = launch_runs_shell(config.path),
		});
	if (!failed && config.line.check.n) {
		const int verdict = check(&gaps, status);

		if (has_succeeded(status))
			return verdict;
	}
	if (!failed)
		end_like(status);
	return failed;
}

/* ---- attaching ---- */

static void detach(int signal_number)
{
	(void)signal_number;
	collector_detach(the_collector);
}

/* Ctrl-C and its like end the recording, not the process. */
static void catch_detaching_signals(struct collector *collector)
{
	static const int detaching[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction action = { .sa_handler = detach };

	the_collector = collector;
	for (size_t i = 0; i < sizeof(detaching) / sizeof(*detaching); i++)
		sigaction(detaching[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static void report_problem(char *problem)
{
	complain("process %d %s", (int)config.line.pid, problem);
	free(problem);
}

static void report_stops(const struct attachment *attachment)
{
	const struct attachment_stops stops = attachment_stops(attachment);

	if (config.line.verbosity > 1)
		complain(
			"process %d stood still %u times, %.2f ms at most and %.2f ms in all; one thread worked for "
			"msrec for %.0f ms",
			(int)config.line.pid, stops.n, (double)stops.longest_ns / 1e6,
			(double)stops.sum_ns / 1e6, (double)stops.host_ns / 1e6);
}

/* What is known of the blocks that the process has from before. */
static void report_census(const struct attachment *attachment, const char *why_not)
{
	const struct census_result *c = attachment_census(attachment);
	const int pid = (int)config.line.pid;

	if (config.line.verbosity == 0)
		return;
	if (!c) {
		if (attachment_has_allocator(attachment))
			why_not = "it has an allocator of its own";
		complain("process %d: its blocks from before are not known: %s", pid,
			 why_not ? why_not : "its heap could not be read");
		return;
	}
	complain("process %d has %llu blocks of %llu bytes from before%s", pid, (unsigned long long)c->live,
		 (unsigned long long)c->live_bytes,
		 c->while_running ? ", counted as it ran on: some that came or went meanwhile are wrong"
				  : "");
	if (c->unknown_bytes)
		complain("process %d: what is live in %llu other bytes of its heap is not known%s", pid,
			 (unsigned long long)c->unknown_bytes, c->cut ? ": that would take too long" : "");
	if (c->unknown_mapped)
		complain("process %d: %llu large blocks from before are not known", pid,
			 (unsigned long long)c->unknown_mapped);
	if (attachment_has_allocator(attachment))
		complain("process %d: blocks from before of its own allocator are not known", pid);
}

/* Records the process that the attachment is open to. Returns msrec's exit status. */
static int record_attached(struct attachment *attachment, const char *no_census)
{
	struct collector *collector = collector_create(&config.line.options, messages_report);
	struct collector_gaps gaps;
	char *problem;

	if (!collector) {
		complain("cannot use shared memory: %s", strerror(errno));
		return LAUNCH_FAILED;
	}
	problem = collector_prepare(collector, config.line.pid);
	if (problem) {
		complain("%s", problem);
		free(problem);
		collector_destroy(collector);
		return LAUNCH_FAILED;
	}
	catch_detaching_signals(collector);
	problem = attachment_begin(attachment);
	if (problem) {
		report_problem(problem);
		collector_discard(collector);
		collector_destroy(collector);
		return LAUNCH_FAILED;
	}
	report_census(attachment, no_census);
	collector_settle(collector);
	if (config.line.verbosity > 0)
		complain(
			"attached to process %d; Ctrl-C or 'msrec stop %d' ends the recording, the process goes on",
			(int)config.line.pid, (int)config.line.pid);
	collector_run_attached(collector);
	gaps = collector_gaps(collector);
	report_gaps(&gaps);
	push_rest(collector);
	collector_destroy(collector);
	if (config.line.verbosity > 0)
		last_lines_print(&(struct last_lines){
			.capture = &config.line.options.capture,
			.verbosity = config.line.verbosity,
		});
	return 0;
}

static int attach(void)
{
	static struct command command;
	char *const library = installed_attached();
	struct attachment *attachment = NULL;
	const char *no_census = "a sample is recorded";
	char *problem;
	int status;

	if (!library)
		return LAUNCH_FAILED;
	problem = attachment_open(&attachment, config.line.pid, library);
	free(library);
	if (problem) {
		report_problem(problem);
		return LAUNCH_FAILED;
	}
	command_read(&command, config.line.pid);
	config.line.options.program = (struct program_options){
		.exe = command.exe,
		.argc = (int)command.argc,
		.argv = (char *const *)command.argv,
		.entries = attachment_plan(attachment),
		.attachment = attachment,
	};
	if (!config.line.options.capture.sample_bytes)
		no_census = attachment_want_census(attachment);
	status = record_attached(attachment, no_census);
	report_stops(attachment);
	attachment_destroy(attachment);
	command_finish(&command);
	return status;
}

/* ---- before the run ---- */

/* Whether the program will find the shared memory by msrec's pid; else false after a message. */
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

/* What the tool for Valgrind does, or does not do. False after a message. */
static bool settle_engine(struct msrec_options *options)
{
	struct capture_options *capture = &options->capture;
	const char *refused = capture->sample_bytes       ? "--sample"
			      : capture->timer_ms         ? "--timer"
			      : capture->maps             ? "--mmap"
			      : options->push.command     ? "--push"
			      : options->output.max_bytes ? "--max-size"
			      : options->duration_s       ? "--duration"
							  : NULL;

	if (!capture->exact)
		return true;
	if (refused)
		complain("%s is for --engine=preload alone", refused);
	capture->usable = true;
	capture->instructions = false; /* the processor's, that is */
	return !refused;
}

/*
 * With -o - standard output is the trace's alone, and what the program prints there goes to standard error. False after a
 * message.
 */
static bool settle_stream(struct msrec_options *options)
{
	const char *refused = options->capture.trace_children ? "--trace-children=yes"
			      : options->output.rotates       ? "--rotate"
							      : NULL;

	if (strcmp(options->output.pattern, "-") != 0)
		return true;
	if (refused) {
		complain("-o - takes the trace of one process: not with %s", refused);
		return false;
	}
	if (isatty(STDOUT_FILENO)) {
		complain("-o -: standard output is a terminal, and a trace is not text");
		return false;
	}
	options->output.stream = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (options->output.stream < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		complain("standard output: %s", strerror(errno));
		return false;
	}
	return true;
}

/* Without a counter msrec records without counts. */
static void settle_instructions(void)
{
	struct counter counter;
	int err = config.line.options.capture.instructions ? counter_open(&counter) : 0;

	if (!config.line.options.capture.instructions)
		return;
	if (err == 0) {
		counter_close(&counter);
		return;
	}
	config.line.options.capture.instructions = false;
	if (!config.line.instructions_wanted && config.line.verbosity < 2)
		return;
	if (err == -EACCES || err == -EPERM)
		complain(
			"instructions are not counted: it is not allowed (/proc/sys/kernel/perf_event_paranoid)");
	else if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -ENOSYS)
		complain("instructions are not counted: this machine offers no counter for them");
	else
		complain("instructions are not counted: %s", strerror(-err));
}

/* False after a message. */
static bool settle_push(struct push_options *push)
{
	if (push->command)
		push->msconvert = installed_msconvert();
	return !push->command || push->msconvert;
}

/* Finds the program, and looks whether it can be recorded. 0, or msrec's exit status after a message. */
static int find_program(void)
{
	char *objection, *remark;
	int status;

	config.path = launch_find(config.line.argv[0], &status);
	if (!config.path) {
		complain("%s: %s", config.line.argv[0], strerror(errno));
		return status;
	}
	objection = launch_objection(config.path, config.line.options.capture.exact, &remark, &config.plan);
	if (objection) {
		complain("%s %s", config.path, objection);
		free(objection);
		return LAUNCH_FAILED;
	}
	if (config.plan.n > 0 && config.line.options.capture.dormant) {
		complain("%s has an allocator linked into it, and cannot start dormant", config.path);
		free(remark);
		return LAUNCH_FAILED;
	}
	if (remark && config.line.verbosity > 0)
		complain("%s %s", config.path, remark);
	free(remark);
	config.exe = realpath(config.path, NULL);
	config.line.options.program = (struct program_options){
		.exe = config.exe ? config.exe : config.path,
		.argc = config.line.argc,
		.argv = config.line.argv,
		.entries = &config.plan,
	};
	return 0;
}

/* False after a message. */
static bool find_recorder(void)
{
	const struct capture_options *const capture = &config.line.options.capture;
	/* One library more would show among the pages of programs that do not need it. */
	const bool with_entries = config.plan.n > 0 || (capture->trace_children && !capture->pages);

	if (!can_be_found())
		return false;
	/* Parts of shared memory are opened one by one. */
	if (sysconf(_SC_PAGESIZE) > (long)SHM_PAGE) {
		complain("this kernel's pages have %ld bytes, and msrec records where they have %u",
			 sysconf(_SC_PAGESIZE), SHM_PAGE);
		return false;
	}
	if (config.line.options.capture.exact)
		config.valgrind = installed_valgrind();
	else
		config.preload = installed_preload(config.line.options.capture.pages, with_entries);
	return config.preload || config.valgrind;
}

int main(int argc, char **argv)
{
	struct capture_options *const capture = &config.line.options.capture;
	int status;

	streams_hold();
	if (control_command_is(argc, argv))
		return control_command_run(argc, argv);
	status = command_line_parse(&config.line, argc, argv);
	if (status)
		return status;
	config.line.options.whole = config.line.check.n > 0;
	capture->fixed = capture->exact || capture->pages || capture->maps || config.line.check.n > 0;
	messages_setup(config.line.verbosity, config.line.check.n > 0);
	if (!settle_engine(&config.line.options) || !settle_push(&config.line.options.push))
		return LAUNCH_FAILED;
	if (config.line.pid) {
		if (!settle_stream(&config.line.options))
			return LAUNCH_FAILED;
		return attach();
	}
	status = find_program();
	if (status)
		return status;
	if (!find_recorder() || !settle_stream(&config.line.options) ||
	    (config.line.check.n && !check_prepare(&config.line.check)))
		return LAUNCH_FAILED;
	/* The blocks that libraries free at exit do not change estimates, and freeing them takes time. */
	if (capture->sample_bytes)
		capture->libc_freeres = capture->cxx_freeres = false;
	settle_instructions();
	return record();
}
