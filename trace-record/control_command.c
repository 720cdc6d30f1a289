/* SPDX-License-Identifier: MIT */
#include "control_command.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "control_message.h"
#include "launch.h"
#include "messages.h"
#include "printable.h"

#define ANSWER_MS 10000 /* a full disk can keep msrec from answering */
#define WHOLE_MS 60000  /* until names are in a file */
#define NOT_DONE 1
#define PAUSE_NS 20000000 /* between attempts to connect */
#define CONNECTS 250

static const struct verb {
	const char *name;
	enum control_op op;
	bool takes_text, alone; /* a text; and no process id: all recordings */
} verbs[] = {
	{ "mark", CONTROL_MARK, true, false },      { "on", CONTROL_ON, false, false },
	{ "off", CONTROL_OFF, false, false },       { "snapshot", CONTROL_SNAPSHOT, false, false },
	{ "rotate", CONTROL_ROTATE, false, false }, { "stop", CONTROL_STOP, false, false },
	{ "status", CONTROL_STATUS, false, true },
};

static struct control_reply reply;

static const struct verb *find_verb(const char *word)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(word, verbs[i].name) == 0)
			return &verbs[i];
	}
	return NULL;
}

bool control_command_is(int argc, char **argv)
{
	return argc > 1 && find_verb(argv[1]);
}

/* ---- the recordings of this machine ---- */

/* Calls `ask` with the names of msrec's sockets, until that returns true. */
static bool any_socket(bool (*ask)(const char *name, void *context), void *context)
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
		found = ask(name, context);
	}
	free(line);
	if (list)
		fclose(list);
	return found;
}

/* The queue of a recording can be full for a while. */
static bool connect_in_time(int fd, const struct sockaddr_un *address, size_t size)
{
	const struct timespec pause = { 0, PAUSE_NS };

	for (unsigned i = 0; connect(fd, (const struct sockaddr *)address, (socklen_t)size) != 0; i++) {
		if (errno != EAGAIN || i >= CONNECTS)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* A connection to a socket of the caller's own user (root: of any user). -1: none. */
static int dial(const char *name)
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
	if (fd >= 0 && (!connect_in_time(fd, &address, offsetof(struct sockaddr_un, sun_path) + 1 + n) ||
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

struct question {
	struct control_request request;
	bool silent; /* a recording did not answer */
};

/* Asks one recording. True: it has the process; `reply` says what became of the request. */
static bool ask_one(const char *name, void *context)
{
	struct question *const question = context;
	const int fd = dial(name);
	char end;
	bool known = false;
	ssize_t n;

	if (fd < 0)
		return false;
	if (send(fd, &question->request, sizeof(question->request), MSG_NOSIGNAL) ==
		    (ssize_t)sizeof(question->request) &&
	    await(fd, ANSWER_MS)) {
		n = recv(fd, &reply, sizeof(reply), 0);
		known = n >= (ssize_t)offsetof(struct control_reply, text) && reply.magic == CONTROL_MAGIC &&
			reply.bytes <= CONTROL_TEXT &&
			(size_t)n == offsetof(struct control_reply, text) + reply.bytes &&
			(reply.status == CONTROL_DONE || reply.status == CONTROL_REFUSED);
	} else {
		question->silent = true;
	}
	/* A worker that completes the file holds the connection as long. */
	if (known && await(fd, WHOLE_MS))
		(void)!recv(fd, &end, 1, 0);
	close(fd);
	if (known && question->request.pid == CONTROL_ALL) {
		printable_lines(stdout, reply.text, reply.bytes);
		return false;
	}
	return known;
}

/* ---- the command ---- */

static void complain_unknown(pid_t pid, bool silent)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (silent)
		complain("a recording does not answer; is its disk full?");
	else if (stat(path, &st) != 0)
		complain("process %d: there is no such process", (int)pid);
	else if (geteuid() != 0 && st.st_uid != geteuid())
		complain("process %d is another user's", (int)pid);
	else
		complain(
			"process %d is not recorded by any msrec that can be reached from here ('msrec status' lists "
			"what is)",
			(int)pid);
}

static bool parse_pid(const char *word, int32_t *pid)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(word, &end, 10);
	*pid = (int32_t)n;
	return !errno && *word >= '0' && *word <= '9' && !*end && n > 0 && n <= INT32_MAX;
}

/* 0, or msrec's exit status after a message. */
static int read_words(int argc, char **argv, const struct verb *verb, struct control_request *request)
{
	const char *text = verb->takes_text ? argc > 3 ? argv[3] : verb->name : "";

	*request = (struct control_request){ .magic = CONTROL_MAGIC, .op = verb->op };
	if (argc > (verb->takes_text ? 4 : 3) || (argc == 2 && !verb->alone) ||
	    (argc > 2 && !parse_pid(argv[2], &request->pid))) {
		complain(
			"%s needs the id of a recorded process%s ('msrec -- %s ...' runs a program of that name)",
			verb->name, verb->takes_text ? ", and takes one text" : "", verb->name);
		return LAUNCH_FAILED;
	}
	if (strlen(text) >= sizeof(request->text)) {
		complain("%s: a text has at most %zu bytes", verb->name, sizeof(request->text) - 1);
		return LAUNCH_FAILED;
	}
	memcpy(request->text, text, strlen(text) + 1);
	return 0;
}

int control_command_run(int argc, char **argv)
{
	struct question question = { .silent = false };
	int status = read_words(argc, argv, find_verb(argv[1]), &question.request);

	if (status)
		return status;
	if (!any_socket(ask_one, &question)) {
		if (question.request.pid != CONTROL_ALL)
			complain_unknown(question.request.pid, question.silent);
		return question.request.pid == CONTROL_ALL && !question.silent ? 0 : NOT_DONE;
	}
	if (reply.status == CONTROL_REFUSED) {
		fputs("msrec: ", stderr);
		printable_lines(stderr, reply.text, reply.bytes);
		return NOT_DONE;
	}
	printable_lines(stdout, reply.text, reply.bytes);
	return 0;
}
