/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_jobs.h — commands that outlive their call: AGENT_JOB, AGENT_FIND_JOB and AGENT_AWAIT
 * of wire/agent.h.
 *
 * AGENT_JOB makes a job of the next command that is started on its connection. The server chooses
 * the id, so that it finds the job again after a crash. With an address the agent posts the
 * command's end there. The token only authorizes that post. It stays in the agent's memory, which
 * no process inside can read, and is not in the command's environment. */
#pragma once

#include "wire/agent.h"

#define AGENT_JOB_TAIL_MAX (32 * 1024) /* bytes of each stream that are posted */

/* -> PONG */
struct agent_job {
	const char *id;
	const char *address; /* numeric, without a port; "" = no post */
	uint32_t port;
	const char *host, *path; /* for the head of the post */
	const char *token;
};
extern const struct wire_member agent_job_shape[];

/* The process of a job -> PROCESS, DONE. */
struct agent_find_job {
	const char *id;
};
extern const struct wire_member agent_find_job_shape[];

/* -> PROCESS, DONE, once it has ended. Refused when boot_id is not this agent's. */
struct agent_await {
	uint64_t process;
	const char *boot_id;
};
extern const struct wire_member agent_await_shape[];
