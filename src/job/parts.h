/* SPDX-License-Identifier: Apache-2.0 */
/* job/parts.h — what the files of this folder share. Private to it.
 *
 * start.c: from a request to a row and a process. watch.c: the thread that waits for ends.
 * attend.c: what a worker does about one job. tail.c: what it wrote. keep.c: the files that it
 * left. end.c: settling. calls.c: what
 * callers ask. origin.c: pure. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/id.h"
#include "base/list.h"
#include "job/job.h"
#include "worker/worker.h"

/* Of each stream, kept with the row. */
#define TAIL_MAX (32 * 1024)
#define AGENT_CALL_MS 5000

/* One that this process is starting: its row has no process yet, and that is right. */
struct starting {
	struct list item;
	const char *id;
};

struct jobs {
	const struct config *config;
	struct store *store;
	struct fleet *fleet;
	struct provider *provider;
	const char *node;
	struct worker_pool *workers;
	pthread_t thread;
	bool has_thread;
	int wake; /* an eventfd */
	atomic_bool is_stopping;
	atomic_bool has_news;   /* of rows that begin */
	atomic_bool has_ended;  /* messages may be due */
	atomic_uint deliveries; /* under way */

	pthread_mutex_t mutex; /* over the rest of this block */
	struct list starting, keeping;
	pthread_cond_t kept; /* one of keeping is done */
	struct attending *finished;

	/* the thread's own */
	struct list watches;
	int64_t list_at, purge_at, deliver_at; /* monotonic */
};

/* ---- watch.c ---- */

/* There is a new one. Any thread. */
void jobs_wake(struct jobs *jobs);
/* The thread looks around. */
void jobs_ring(struct jobs *jobs);

/* ---- deliver.c ---- */

/* Begins what is due; sets deliver_at. On the thread. */
MUST_CHECK int jobs_deliver(struct jobs *jobs, struct error *err);

/* ---- text.c ---- */

/* The row keeps a JSON text. */
struct span job_text_of(struct arena *a, const char *json);

/* ---- start.c ---- */

bool job_is_starting(struct jobs *jobs, const char *id);

/* ---- attend.c ---- */

/* What is to be done about a job by now. `fd`: a connection that awaits its end, which has
 * something to say; or -1. Then, unless it is over, *fd is one that awaits its end, or -1 to be
 * tried again. */
struct attention {
	char id[ID_SIZE + 1];
	int fd;
	bool is_over;
	bool is_slow; /* it leaves files to be kept */
};
void job_attend(struct jobs *jobs, struct attention *at);
/* Why one that runs by its row cannot: NULL when it can. */
const char *job_lost_reason(const struct job_record *r);

/* ---- tail.c ---- */

struct tail {
	struct buf out[2];
	uint64_t offset[2], end[2];
};
void tail_done(struct tail *t);
/* From the agent; up to `max` bytes of each stream, from since[i], or less than that before the end
 * when it is negative. */
MUST_CHECK int tail_read(struct jobs *jobs, const struct job_record *r,
                         const struct job_logs_request *request, struct tail *ret,
                         struct error *err);

/* ---- keep.c ---- */

/* Before its end is settled. Fails when they can be kept later; what never can is left out. Whoever
 * comes second, a stop or the watch, waits for the first. */
MUST_CHECK int job_keep_files(struct jobs *jobs, struct arena *a, const struct job_record *r,
                              const struct agent_process *p, struct error *err);

/* ---- end.c ---- */

/* By what the agent tells of the process. */
MUST_CHECK int job_settle_process(struct jobs *jobs, struct arena *a, const struct job_record *r,
                                  const struct agent_process *p, struct error *err);
/* It is lost. */
MUST_CHECK int job_settle_lost(struct jobs *jobs, struct arena *a, const char *id,
                               const char *reason, struct error *err);
/* Asks the agent to tell of its end. */
MUST_CHECK int job_await(struct jobs *jobs, const struct job_record *r, int *ret_fd,
                         struct error *err);
/* The answer to that; blocks. */
MUST_CHECK int job_await_answer(int fd, struct arena *a, int64_t deadline,
                                struct agent_process *ret, struct error *err);
void job_token_hash(struct span token, unsigned char ret[KEY_HASH_SIZE]);
