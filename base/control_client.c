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

#include "array.h"

#define PAUSE_MS 20     /* between attempts to connect to a socket whose queue is full */
#define TURN_MS 200     /* before the next recording is asked, too */
#define LISTENS 0x10000 /* a flag of /proc/net/unix */

_Static_assert(CONTROL_NAME_SIZE == sizeof(((struct sockaddr_un *)0)->sun_path), "a name fits an address");

/* ---- one recording ---- */

/* A recording that is asked. */
struct peer {
	char name[CONTROL_NAME_SIZE];
	int fd;     /* -1: it is done with */
	bool asked; /* false: its queue was full so far */
};

static bool connect_to(int fd, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t n = strlen(name);

	memcpy(address.sun_path + 1, name, n);
	return connect(fd, (const struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) == 0;
}

/* Of the caller's own user; root talks to any. */
static bool is_ours(int fd)
{
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (geteuid() == 0 || peer.uid == geteuid() || peer.uid == 0);
}

static bool send_request(int fd, const struct control_request *request)
{
	return send(fd, request, sizeof(*request), MSG_NOSIGNAL) == (ssize_t)sizeof(*request);
}

static void hang_up(struct peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

static void begin(struct peer *peer, const char *name)
{
	const bool fits = strlen(name) < sizeof(peer->name) - 1;

	*peer = (struct peer){ .fd = -1 };
	if (!fits)
		return;
	strcpy(peer->name, name);
	peer->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Hangs up if that can never be; leaves a peer whose queue is full. */
static void try_to_ask(struct peer *peer, const struct control_request *request)
{
	if (connect_to(peer->fd, peer->name))
		peer->asked = is_ours(peer->fd) && send_request(peer->fd, request);
	else if (errno == EAGAIN)
		return;
	if (!peer->asked)
		hang_up(peer);
}

static bool await(int fd, int ms)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	return poll(&readable, 1, ms) > 0;
}

/* Whether the answer is one of a recording that has the process. */
static bool receive(int fd, struct control_reply *reply)
{
	const ssize_t n = recv(fd, reply, sizeof(*reply), 0);

	return n >= (ssize_t)offsetof(struct control_reply, text) && reply->magic == CONTROL_MAGIC &&
	       reply->bytes <= CONTROL_TEXT &&
	       (size_t)n == offsetof(struct control_reply, text) + reply->bytes &&
	       (reply->status == CONTROL_DONE || reply->status == CONTROL_REFUSED);
}

/* True: it is the answer that was asked for. */
static bool take_answer(struct control_question *question, struct peer *peer)
{
	const bool known = receive(peer->fd, &question->reply);
	char end;

	/* A worker that completes the file holds the connection as long. */
	if (known && question->whole_ms && await(peer->fd, question->whole_ms))
		(void)!recv(peer->fd, &end, 1, 0);
	hang_up(peer);
	if (!known)
		return false;
	strcpy(question->name, peer->name);
	if (question->request.pid != CONTROL_ALL)
		return true;
	question->each(&question->reply, question->context);
	return false;
}

/* ---- all recordings ---- */

struct peers {
	struct peer *items;
	struct pollfd *answers; /* of each */
	uint32_t n, room;
};

/* The name in a line of /proc/net/unix, if a recording listens there; its connections have the name, too. */
static char *listening_name(char *line)
{
	char *const name = strstr(line, " @" CONTROL_NAME);
	unsigned long flags;

	if (!name || sscanf(line, "%*s %*s %*s %lx", &flags) != 1 || !(flags & LISTENS))
		return NULL;
	name[2 + strcspn(name + 2, " \n")] = 0;
	return name + 2;
}

/* All that listen. What does not fit memory is left out. */
static void list_peers(struct peers *peers)
{
	FILE *list = fopen("/proc/net/unix", "re");
	char *line = NULL;
	size_t capacity = 0;

	while (list && getline(&line, &capacity, list) > 0) {
		const char *const name = listening_name(line);

		if (name && array_reserve(&peers->items, peers->n, &peers->room, sizeof(*peers->items)))
			begin(&peers->items[peers->n++], name);
	}
	free(line);
	if (list)
		fclose(list);
	peers->answers = calloc(peers->n + (size_t)1, sizeof(*peers->answers));
	if (!peers->answers)
		peers->n = 0;
}

/* Asks those of the first `n` that could not be asked before. Returns how many still are not. */
static uint32_t ask_rest(struct peers *peers, uint32_t n, const struct control_request *request)
{
	uint32_t full = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct peer *const peer = &peers->items[i];

		if (peer->fd >= 0 && !peer->asked)
			try_to_ask(peer, request);
		full += peer->fd >= 0 && !peer->asked;
	}
	return full;
}

/* How many of the first `n` may still answer. */
static uint32_t count_open(const struct peers *peers, uint32_t n)
{
	uint32_t open = 0;

	for (uint32_t i = 0; i < n; i++)
		open += peers->items[i].fd >= 0;
	return open;
}

/* Sets what answers. */
static void poll_all(struct peers *peers, int ms)
{
	for (uint32_t i = 0; i < peers->n; i++) {
		const struct peer *const peer = &peers->items[i];

		/* A socket that is not connected would be ready at once. */
		peers->answers[i] = (struct pollfd){ .fd = peer->asked ? peer->fd : -1, .events = POLLIN };
	}
	(void)poll(peers->answers, peers->n, ms);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One after the other; but one that is stuck keeps the others from answering for a moment only. */
static bool ask_all(struct control_question *question, struct peers *peers)
{
	const int64_t until = now_ms() + question->answer_ms;
	uint32_t n = 0;
	int64_t left;

	while ((left = until - now_ms()) > 0) {
		n += n < peers->n;
		const bool full = ask_rest(peers, n, &question->request) > 0;
		const int64_t most = n < peers->n ? TURN_MS : full ? PAUSE_MS : left;

		if (!count_open(peers, n)) {
			if (n == peers->n)
				return false;
			continue;
		}
		poll_all(peers, (int)(most < left ? most : left));
		for (uint32_t i = 0; i < n; i++) {
			if (peers->answers[i].revents && take_answer(question, &peers->items[i]))
				return true;
		}
	}
	question->silent = true;
	return false;
}

bool control_client_ask(struct control_question *question)
{
	struct peers peers = { 0 };
	bool found;

	question->request.magic = CONTROL_MAGIC;
	question->silent = false;
	list_peers(&peers);
	found = ask_all(question, &peers);
	for (uint32_t i = 0; i < peers.n; i++)
		hang_up(&peers.items[i]);
	free(peers.items);
	free(peers.answers);
	return found;
}

bool control_client_tell(const char *name, const struct control_request *request)
{
	struct peer peer;

	begin(&peer, name);
	if (peer.fd >= 0)
		try_to_ask(&peer, request);
	hang_up(&peer);
	return peer.asked;
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
