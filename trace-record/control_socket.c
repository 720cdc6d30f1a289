/* SPDX-License-Identifier: MIT */
#include "control_socket.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16
#define PATIENCE_NS 1000000000u /* for a request, once a client has connected */

static int listen_at(int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint64_t number;
	int n;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -1;
	n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, CONTROL_NAME "%u-%016llx",
		     (unsigned)geteuid(), (unsigned long long)number);
	if (bind(fd, (const struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) != 0)
		return -1;
	return listen(fd, BACKLOG);
}

void control_socket_open(struct control_socket *s)
{
	for (unsigned i = 0; i < CONTROL_PEERS; i++)
		s->peers[i].fd = -1;
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd >= 0 && listen_at(s->fd) != 0) {
		close(s->fd);
		s->fd = -1;
	}
}

static void hang_up(struct control_peer *peer)
{
	close(peer->fd);
	peer->fd = -1;
}

void control_socket_leave(struct control_socket *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void control_socket_close(struct control_socket *s)
{
	for (unsigned i = 0; i < CONTROL_PEERS && s->fd >= 0; i++) {
		if (s->peers[i].fd >= 0)
			hang_up(&s->peers[i]);
	}
	control_socket_leave(s);
}

/* Whether the client is of msrec's user or root. */
static bool may_ask(int fd)
{
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof(peer) &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

/* The kernel makes a socket before it looks whether there is a connection. */
static bool has_connection(const struct control_socket *s)
{
	struct pollfd poll_fd = { .fd = s->fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0;
}

static void accept_peers(struct control_socket *s, uint64_t now_ns)
{
	if (!has_connection(s))
		return;
	for (unsigned i = 0; i < CONTROL_PEERS; i++) {
		struct control_peer *const peer = &s->peers[i];

		if (peer->fd >= 0)
			continue;
		peer->fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (peer->fd < 0)
			return;
		peer->since_ns = now_ns;
		if (!may_ask(peer->fd))
			control_socket_answer(peer, &(struct control_reply){ .magic = CONTROL_MAGIC,
									     .status = CONTROL_FORBIDDEN });
	}
}

/* True: the whole request has come. A connection that cannot give one is closed. */
static bool take_request(struct control_peer *peer, uint64_t now_ns, struct control_request *request)
{
	const ssize_t n = recv(peer->fd, request, sizeof(*request), MSG_DONTWAIT | MSG_TRUNC);

	if (n == (ssize_t)sizeof(*request) && request->magic == CONTROL_MAGIC &&
	    memchr(request->text, 0, sizeof(request->text)))
		return true;
	if (n >= 0 || (errno != EAGAIN && errno != EINTR) || now_ns - peer->since_ns > PATIENCE_NS)
		hang_up(peer);
	return false;
}

bool control_socket_next(struct control_socket *s, uint64_t now_ns, struct control_request *request,
			 struct control_peer **peer)
{
	if (s->fd < 0)
		return false;
	accept_peers(s, now_ns);
	for (unsigned i = 0; i < CONTROL_PEERS; i++) {
		*peer = &s->peers[i];
		if ((*peer)->fd >= 0 && take_request(*peer, now_ns, request))
			return true;
	}
	return false;
}

void control_socket_answer(struct control_peer *peer, const struct control_reply *reply)
{
	assert(peer->fd >= 0 && reply->bytes <= CONTROL_TEXT);
	send(peer->fd, reply, offsetof(struct control_reply, text) + reply->bytes,
	     MSG_DONTWAIT | MSG_NOSIGNAL);
	hang_up(peer);
}
