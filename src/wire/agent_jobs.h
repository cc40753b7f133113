/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_jobs.h — commands that outlive their call, as AGENT_JOB, AGENT_FIND_JOB and
 * AGENT_AWAIT of wire/agent.h tell of them.
 *
 * AGENT_JOB makes a job of the next command that is started on its connection, by an id of the
 * server's: so that after a crash between the two the server finds it again. With an address the
 * agent itself posts the command's end there. The token is for that alone: it stays in the agent's
 * memory, which nothing inside can read, and is no part of any command's environment. */
#pragma once

#include "wire/agent.h"

#define AGENT_JOB_TAIL_MAX (32 * 1024) /* bytes of each stream that are posted */

/* -> PONG */
struct agent_job {
	const char *id;
	const char *address; /* numeric, without a port; "" = nobody is told */
	uint32_t port;
	const char *host, *path; /* as the request says them */
	const char *token;
};
extern const struct wire_member agent_job_shape[];

/* The process of a job -> PROCESS, DONE. */
struct agent_find_job {
	const char *id;
};
extern const struct wire_member agent_find_job_shape[];

/* -> PROCESS, DONE, once it has ended. Refused when the agent is another one than meant. */
struct agent_await {
	uint64_t process;
	const char *boot_id;
};
extern const struct wire_member agent_await_shape[];
