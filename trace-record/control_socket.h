/* SPDX-License-Identifier: MIT */
/*
 * The socket on which msrec takes requests (control_message.h). No call waits. A connection carries one request; one of
 * another user, of the wrong length, or that is late, is closed.
 */
#ifndef TRACE_RECORD_CONTROL_SOCKET_H
#define TRACE_RECORD_CONTROL_SOCKET_H

#include <stdbool.h>

#include "control_message.h"

#define CONTROL_PEERS 8u

struct control_socket {
	int fd; /* -1: there is none */
	struct control_peer {
		int fd;            /* -1: free */
		uint64_t since_ns; /* of the caller's clock */
	} peers[CONTROL_PEERS];
};

/* Without a socket, a recording takes no requests. */
void control_socket_open(struct control_socket *socket);
void control_socket_close(struct control_socket *socket);

/* For a worker: a client learns by the end of its connection that the file that it asked for is whole. */
void control_socket_leave(struct control_socket *socket);

/* The next request there is, and whose it is. False: none. */
bool control_socket_next(struct control_socket *socket, uint64_t now_ns, struct control_request *request,
			 struct control_peer **peer);

/* Answers and closes the connection. */
void control_socket_answer(struct control_peer *peer, const struct control_reply *reply);

#endif
