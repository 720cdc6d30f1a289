/* SPDX-License-Identifier: MIT */
#include "plan_requests.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os.h"
#include "program.h"

/* The file that the process runs. */
static void plan_for(pid_t pid, struct entry_plan *plan)
{
	char path[64], *remark = NULL;
	int fd;

	*plan = (struct entry_plan){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	free(program_objection(fd, false, &remark, plan));
	free(remark);
	close(fd);
}

/* The state is a program's: whichever process it names, only that process's program is looked at. */
void plan_requests_answer(struct shm_family *family)
{
	struct shm_plan_request *const request = &family->plan_request;
	uint32_t state = atomic_load(&request->state);
	const pid_t pid = (pid_t)SHM_REQUEST_PID(state);

	if (SHM_REQUEST_STATE(state) == SHM_REQUEST_ASKED) {
		plan_for(pid, &request->plan);
		atomic_compare_exchange_strong(&request->state, &state,
					       SHM_REQUEST(pid, SHM_REQUEST_ANSWERED));
	} else if (state != SHM_REQUEST_FREE && kill(pid, 0) != 0 && errno == ESRCH) {
		atomic_compare_exchange_strong(&request->state, &state, SHM_REQUEST_FREE);
	} else {
		return;
	}
	os_wake_all(&request->state);
}
