/* SPDX-License-Identifier: MIT */
/*
 * fake_counter MODE COMMAND...: runs a command on a machine that seems to have a counter of instructions. It answers
 * the system calls of the command and its descendants about counters (seccomp's user notifications): each opened
 * counter is a file in memory. "page": its first page has the count, which increases by itself. "read": the page
 * has none; each read of the descriptor gives 1000 more. "few": as "page", but there are only two counters.
 * "none", "denied": there is no counter, or using it is forbidden.
 *
 * Ends as the command does; with 77 where the kernel offers nothing to do this with.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77
#define COUNTERS 4096u
#define ID 4711u
#define FD_LOW 900u /* as in the recorder */
#define STEP 1000u
#define PERIOD_MS 1

static struct perf_event_mmap_page *pages[COUNTERS];
static unsigned n_pages;
static unsigned most_pages = COUNTERS;
static uint64_t reads;
static int by_page, refusal; /* a negative errno value; 0: none */

/* ---- the command's side ---- */

#define CALL offsetof(struct seccomp_data, nr)
#define ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define ASK SECCOMP_RET_USER_NOTIF

/* The descriptor of seccomp's notifications; -1: there is none. */
static int listen_to_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, CALL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ASK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(1)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)PERF_EVENT_IOC_ID, 0, 5),
		BPF_STMT(BPF_RET | BPF_K, ASK),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FD_LOW, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ASK),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void send_descriptor(int socket, int fd)
{
	char space[CMSG_SPACE(sizeof(fd))] = { 0 }, byte = 0;
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*header = (struct cmsghdr){ CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	if (sendmsg(socket, &message, 0) != 1)
		_exit(SKIPPED);
}

static int receive_descriptor(int socket)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)
	};
	int fd = -1;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static __attribute__((noreturn)) void run_command(int socket, char **argv)
{
	const int fd = listen_to_calls();

	if (fd < 0)
		_exit(SKIPPED);
	send_descriptor(socket, fd);
	close(fd);
	close(socket);
	execvp(*argv, argv);
	_exit(127);
}

/* ---- the kernel's side ---- */

static int make_counter(void)
{
	const int fd = memfd_create("[perf_event]", MFD_CLOEXEC);
	struct perf_event_mmap_page *page;

	if (fd < 0 || ftruncate(fd, 4096) != 0 || n_pages == most_pages)
		return -1;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -1;
	/* Index 0: the recorder must not read a register, because a machine without counters doesn't allow it. */
	page->cap_user_rdpmc = (uint64_t)by_page & 1;
	page->pmc_width = 48;
	pages[n_pages++] = page;
	return fd;
}

/* Writes a number into the command's memory, without a check that the call is still waiting: only fit for tests. */
static int64_t put_number(const struct seccomp_notif *call, uint64_t to, uint64_t number)
{
	const struct iovec from = { &number, sizeof(number) }, there = { (void *)to, sizeof(number) };

	return process_vm_writev((pid_t)call->pid, &from, 1, &there, 1, 0) == sizeof(number) ? 0 : -EFAULT;
}

static int64_t give_counter(int listener, const struct seccomp_notif *call)
{
	struct seccomp_notif_addfd add = { .id = call->id, .newfd_flags = O_CLOEXEC };
	const int fd = refusal ? -1 : make_counter();
	int given;

	if (fd < 0)
		return refusal ? refusal : -EMFILE;
	add.srcfd = (uint32_t)fd;
	given = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	close(fd);
	return given < 0 ? -errno : given;
}

/* Whether the descriptor is one of the made files, by the name of its link. */
static int is_counter(const struct seccomp_notif *call, uint64_t fd)
{
	char path[64], name[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", call->pid, (unsigned)fd);
	n = readlink(path, name, sizeof(name) - 1);
	return n > 0 && memmem(name, (size_t)n, "[perf_event]", 12);
}

static void answer(int listener)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp response = { 0 };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
		return;
	response.id = call.id;
	if (call.data.nr == SYS_perf_event_open)
		response.val = give_counter(listener, &call);
	else if (!is_counter(&call, call.data.args[0]))
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (call.data.nr == SYS_ioctl)
		response.val = put_number(&call, call.data.args[2], ID);
	else if ((response.val = put_number(&call, call.data.args[1], reads += STEP)) == 0)
		response.val = 8;
	if (response.val < 0) {
		response.error = (int32_t)response.val;
		response.val = 0;
	}
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* All counters go on, as if a program ran. */
static void go_on(void)
{
	for (unsigned i = 0; i < n_pages; i++) {
		__atomic_fetch_add(&pages[i]->lock, 1, __ATOMIC_SEQ_CST);
		pages[i]->offset += STEP;
		__atomic_fetch_add(&pages[i]->lock, 1, __ATOMIC_SEQ_CST);
	}
}

static int serve(int listener, pid_t command)
{
	struct pollfd wait = { .fd = listener, .events = POLLIN };
	int status;

	while (waitpid(command, &status, WNOHANG) != command) {
		if (poll(&wait, 1, PERIOD_MS) > 0 && wait.revents & POLLIN)
			answer(listener);
		go_on();
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void choose(const char *mode)
{
	by_page = strcmp(mode, "read") != 0;
	if (strcmp(mode, "few") == 0)
		most_pages = 2;
	if (strcmp(mode, "none") == 0)
		refusal = -ENOENT;
	if (strcmp(mode, "denied") == 0)
		refusal = -EACCES;
}

int main(int argc, char **argv)
{
	int sockets[2], listener;
	pid_t command;

	if (argc < 3 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return 2;
	choose(argv[1]);
	command = fork();
	if (command == 0)
		run_command(sockets[1], argv + 2);
	close(sockets[1]);
	listener = receive_descriptor(sockets[0]);
	if (listener < 0) {
		waitpid(command, NULL, 0);
		return SKIPPED;
	}
	return serve(listener, command);
}
