/* SPDX-License-Identifier: MIT */
/* Does what requests from outside ask for (control_message.h). */
#ifndef TRACE_RECORD_CONTROL_H
#define TRACE_RECORD_CONTROL_H

#include "control_message.h"
#include "processes.h"

/* `stamp`: when the request came. What it asks for lies between the events stamped before and after. */
void control_obey(struct processes *processes, const struct control_request *request, uint64_t stamp,
		  struct control_reply *reply);

#endif
