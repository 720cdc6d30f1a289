/* SPDX-License-Identifier: MIT */
#include "preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "attached.h"
#include "program.h"
#include "refusal.h"
#include "shm.h"

static long status_number(const struct target *t, const char *key)
{
	char *text = target_status(t, key);
	const long number = text ? strtol(text, NULL, 10) : 0;

	free(text);
	return number;
}

static bool status_has(const struct target *t, const char *key, const char *word)
{
	char *text = target_status(t, key);
	const bool has = text && strstr(text, word);

	free(text);
	return has;
}

/* ---- the process ---- */

static char *judge_state(const struct target *t)
{
	char *state = target_status(t, "State");
	char *size = target_status(t, "VmSize");
	char *objection = NULL;

	if (!state)
		objection = refusal("does not exist");
	else if (*state == 'Z' || *state == 'X')
		objection = refusal("has ended (a zombie that its parent has not waited for)");
	else if (*state == 'T')
		objection = refusal("is stopped by a signal; kill -CONT %d lets it go on", (int)t->pid);
	else if (status_number(t, "Tgid") != t->pid)
		objection = refusal("is a thread of process %ld: attach to that", status_number(t, "Tgid"));
	else if (t->pid == getpid())
		objection = refusal("is msrec itself");
	else if (!size)
		objection = refusal("is the kernel's own");
	free(state);
	free(size);
	return objection;
}

static char *judge_tracer(const struct target *t)
{
	const long tracer = status_number(t, "TracerPid");

	if (tracer == 0)
		return NULL;
	return refusal("is traced by process %ld, such as a debugger or strace; there can be one tracer only",
		       tracer);
}

static char *judge_sandbox(const struct target *t)
{
	const long mode = status_number(t, "Seccomp");

	if (mode == 1)
		return refusal("may make no system call but read, write and exit (strict seccomp)");
	if (status_has(t, "x86_Thread_features", "shstk"))
		return refusal(
			"has shadow stacks switched on, which refuse calls from outside; start it with "
			"GLIBC_TUNABLES=glibc.cpu.hwcaps=-SHSTK");
	return NULL;
}

/* ---- rights ---- */

static int read_ptrace_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int value = 0;

	if (f && fscanf(f, "%d", &value) != 1)
		value = 0;
	if (f)
		fclose(f);
	return value;
}

static char *describe_denial(const struct target *t)
{
	const long owner = status_number(t, "Uid");
	const int scope = read_ptrace_scope();

	if (geteuid() != 0 && owner != (long)geteuid())
		return refusal("belongs to user %ld; run msrec as that user or as root", owner);
	if (scope == 1)
		return refusal(
			"may be traced by its ancestors only (kernel.yama.ptrace_scope is 1); run msrec as "
			"root, or set that to 0: sysctl kernel.yama.ptrace_scope=0");
	if (scope == 2)
		return refusal(
			"may be traced by root only (kernel.yama.ptrace_scope is 2); run msrec as root");
	if (scope == 3)
		return refusal(
			"may not be traced (kernel.yama.ptrace_scope is 3) until the machine starts anew "
			"with another value");
	if (geteuid() != 0)
		return refusal("does not allow its user to trace it (it has changed its user, or called "
			       "prctl(PR_SET_DUMPABLE)); run msrec as root");
	return refusal("may not be traced: the capability CAP_SYS_PTRACE is missing here");
}

/* The kernel's own answer: opening the memory takes the same rights as attaching. */
static char *judge_rights(const struct target *t)
{
	char path[TARGET_PATH];
	int fd;

	target_path(t, path, "mem");
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? refusal("does not exist") : describe_denial(t);
	close(fd);
	return NULL;
}

/* The recorder comes by /proc/self/fd, which a process behind chroot(2) may not have. */
static char *judge_root(const struct target *t)
{
	char path[TARGET_PATH], root[256] = "";
	struct statfs fs = { 0 };

	target_path(t, path, "root/proc");
	if (statfs(path, &fs) == 0 ? fs.f_type == PROC_SUPER_MAGIC : errno != ENOENT)
		return NULL;
	target_path(t, path, "root");
	if (readlink(path, root, sizeof(root) - 1) < 0 || strcmp(root, "/") == 0)
		*root = 0;
	return refusal("has no /proc in its root directory, by which the recorder comes in: "
		       "mount -t proc proc %s/proc",
		       root);
}

/* ---- what it runs ---- */

static const char *file_name(const struct mapping *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

static bool begins_with(const char *name, const char *start)
{
	return strncmp(name, start, strlen(start)) == 0;
}

/* A program of its own makes no request (msrec.h), and a plan says how its allocator is recorded: the planner's to judge. */
static char *judge_program(const struct target *t)
{
	char path[TARGET_PATH], *objection, *remark = NULL;
	struct entry_plan *plan = calloc(1, sizeof(*plan));
	int fd;

	target_path(t, path, "exe");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !plan) {
		free(plan);
		if (fd >= 0)
			close(fd);
		return refusal("cannot be looked at: %s", strerror(errno));
	}
	objection = program_objection(fd, false, &remark, plan);
	close(fd);
	free(remark);
	free(plan);
	return objection;
}

static char *judge_libraries(const struct target *t)
{
	static const char *const others[][2] = {
		{ "libasan.so", "AddressSanitizer" },
		{ "libhwasan.so", "HWAddressSanitizer" },
		{ "libtsan.so", "ThreadSanitizer" },
		{ "liblsan.so", "LeakSanitizer" },
		{ "libclang_rt.asan", "AddressSanitizer" },
		{ "libclang_rt.tsan", "ThreadSanitizer" },
		{ "vgpreload_", "Valgrind" },
	};

	for (uint32_t i = 0; i < t->n_mappings; i++) {
		const char *name = file_name(&t->mappings[i]);

		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
			if (begins_with(name, others[k][0]))
				return refusal("runs with %s, which bears no recorder beside it",
					       others[k][1]);
		}
	}
	return NULL;
}

/* Whether the msrec whose shared memory the process has mapped still lives. */
static bool is_recorded(struct target *t)
{
	const struct mapping *family = target_memfd(t, "msrec");
	uint32_t word;

	for (; family && family < t->mappings + t->n_mappings; family++) {
		uint64_t magic;

		if (!begins_with(family->path, "/memfd:msrec ") || family->offset != 0 ||
		    !target_read(t, family->start, &magic, sizeof(magic)) || magic != SHM_MAGIC)
			continue;
		if (target_read(t, family->start + offsetof(struct shm_family, collector), &word,
				sizeof(word)) &&
		    !(word & FUTEX_OWNER_DIED))
			return true;
	}
	return false;
}

static char *judge_recorders(struct target *t)
{
	if (is_recorded(t))
		return refusal(
			"is recorded by msrec already; 'msrec status %d' says where, and msrec on, off, mark, "
			"snapshot, rotate and stop control that",
			(int)t->pid);
	for (uint32_t i = 0; i < t->n_mappings; i++) {
		if (begins_with(file_name(&t->mappings[i]), "libmsrec.so"))
			return refusal(
				"was started by an msrec that has ended, and its recorder is switched off for "
				"good; start the program anew");
	}
	return NULL;
}

char *preflight_objection(struct target *t)
{
	char *objection = judge_state(t);

	if (!objection)
		objection = judge_tracer(t);
	if (!objection)
		objection = judge_rights(t);
	if (!objection)
		objection = judge_sandbox(t);
	if (!objection)
		objection = judge_root(t);
	if (!objection && target_look(t) != 0)
		objection = refusal("cannot be looked at: %s", strerror(errno));
	if (!objection)
		objection = judge_recorders(t);
	if (!objection)
		objection = judge_libraries(t);
	if (!objection)
		objection = judge_program(t);
	return objection;
}
