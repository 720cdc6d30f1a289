/* SPDX-License-Identifier: MIT */
#include "control_client.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 20000000 /* between attempts to connect */
#define CONNECTS 250

_Static_assert(CONTROL_NAME_SIZE == sizeof(((struct sockaddr_un *)0)->sun_path), "a name fits an address");

/* Calls `ask` with the names of msrec's sockets, until that returns true. */
static bool any_socket(struct control_question *question,
		       bool (*ask)(struct control_question *question, const char *name))
{
	FILE *list = fopen("/proc/net/unix", "re");
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (list && !found && getline(&line, &capacity, list) > 0) {
		char *name = strstr(line, " @" CONTROL_NAME);

		if (!name)
			continue;
		name += 2;
		name[strcspn(name, " \n")] = 0;
		found = ask(question, name);
	}
	free(line);
	if (list)
		fclose(list);
	return found;
}

/* The queue of a recording can be full for a while. */
static bool connect_in_time(int fd, const struct sockaddr_un *address, size_t size, unsigned attempts)
{
	const struct timespec pause = { 0, PAUSE_NS };

	for (unsigned i = 1; connect(fd, (const struct sockaddr *)address, (socklen_t)size) != 0; i++) {
		if (errno != EAGAIN || i >= attempts)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* A connection to a socket of the caller's own user (root: of any user). -1: none. */
static int dial(const char *name, unsigned attempts)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);
	const size_t n = strlen(name);
	int fd;

	if (n >= sizeof(address.sun_path) - 1)
		return -1;
	memcpy(address.sun_path + 1, name, n);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 &&
	    (!connect_in_time(fd, &address, offsetof(struct sockaddr_un, sun_path) + 1 + n, attempts) ||
	     getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
	     (geteuid() != 0 && peer.uid != geteuid() && peer.uid != 0))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool await(int fd, int ms)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	return poll(&readable, 1, ms) > 0;
}

static bool send_request(int fd, const struct control_request *request)
{
	return send(fd, request, sizeof(*request), MSG_NOSIGNAL) == (ssize_t)sizeof(*request);
}

/* Whether the answer has come, and is one of a recording that has the process. */
static bool take_reply(int fd, struct control_reply *reply)
{
	const ssize_t n = recv(fd, reply, sizeof(*reply), 0);

	return n >= (ssize_t)offsetof(struct control_reply, text) && reply->magic == CONTROL_MAGIC &&
	       reply->bytes <= CONTROL_TEXT &&
	       (size_t)n == offsetof(struct control_reply, text) + reply->bytes &&
	       (reply->status == CONTROL_DONE || reply->status == CONTROL_REFUSED);
}

static bool ask_one(struct control_question *question, const char *name)
{
	const int fd = dial(name, CONNECTS);
	bool known = false;
	char end;

	if (fd < 0)
		return false;
	if (send_request(fd, &question->request) && await(fd, question->answer_ms))
		known = take_reply(fd, &question->reply);
	else
		question->silent = true;
	/* A worker that completes the file holds the connection as long. */
	if (known && question->whole_ms && await(fd, question->whole_ms))
		(void)!recv(fd, &end, 1, 0);
	close(fd);
	if (!known)
		return false;
	snprintf(question->name, sizeof(question->name), "%s", name);
	if (question->request.pid != CONTROL_ALL)
		return true;
	question->each(&question->reply, question->context);
	return false;
}

bool control_client_ask(struct control_question *question)
{
	question->request.magic = CONTROL_MAGIC;
	question->silent = false;
	return any_socket(question, ask_one);
}

bool control_client_tell(const char *name, const struct control_request *request)
{
	const int fd = dial(name, 1);
	const bool sent = fd >= 0 && send_request(fd, request);

	if (fd >= 0)
		close(fd);
	return sent;
}

const char *control_client_explain(const struct control_question *question, char *text, size_t size)
{
	const int pid = (int)question->request.pid;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) != 0)
		snprintf(text, size, "process %d: there is no such process", pid);
	else if (geteuid() != 0 && st.st_uid != geteuid())
		snprintf(text, size, "process %d is another user's", pid);
	else if (question->silent)
		snprintf(text, size, "a recording does not answer; is its disk full?");
	else
		snprintf(text, size,
			 "process %d is not recorded by any msrec that can be reached from here ('msrec "
			 "status' lists what is)",
			 pid);
	return text;
}

bool control_client_parse_pid(const char *word, int32_t *pid)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(word, &end, 10);
	*pid = (int32_t)n;
	return !errno && *word >= '0' && *word <= '9' && !*end && n > 0 && n <= INT32_MAX;
}
