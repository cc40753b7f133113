/* SPDX-License-Identifier: Apache-2.0 */
/* agent/job.h — a command that a server knows by an id of its own, and how its end is posted.
 *
 * The post is made here, by process 1 itself on its loop: the token is in no other process, so
 * no code of the sandbox can end a job that is not its own. It is tried for about a minute; the
 * server, which also watches, may have been told by then. */
#pragma once

#include <stdint.h>

#include "agent/state.h"
#include "base/bytes.h"
#include "wire/agent_jobs.h"

#define POSTS_MAX 64 /* that wait or are under way; further ends are the server's to see */

struct process;

struct job {
	struct arena arena; /* of the texts */
	bool is_told;       /* a server knows of the end: it need not be kept for one */
	struct agent_job info;
};

/* Copies. */
struct job *job_new(const struct agent_job *info);
void job_free(struct job *j); /* NULL is fine */

/* The process is over. */
void post_begin(struct process *p);
int64_t posts_next_deadline(const struct agent *a);
/* Outside of any event: also frees what is done. */
void posts_run_timers(struct agent *a, int64_t now);
