/* SPDX-License-Identifier: Apache-2.0 */
/* job/parts.h — what the files of this folder share. Private to it.
 *
 * start.c: from a request to a row and a process. watch.c: the thread that waits for ends.
 * attend.c: what a worker does about one job. tail.c: what it wrote. keep.c: the files that it
 * left. end.c: settling. calls.c: what callers ask. origin.c: pure. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/id.h"
#include "base/list.h"
#include "job/job.h"
#include "provider/agent_reader.h"
#include "worker/worker.h"

/* Of each stream, kept with the row. */
#define TAIL_MAX (32 * 1024)
#define AGENT_CALL_MS 5000
#define FRAME_MS 1000 /* from the first byte of an answer to its last */
/* For all of a job's files, from when they are first asked for; after that they are lost. */
#define KEEP_MS (5 * 60 * 1000)
/* For a try that had to wait for its turn until that was over. */
#define KEEP_TRY_MS 30000
/* The slow lane has as many, for files and messages. */
#define WORKERS 8
/* Of as many that ask agents: so many jobs of a project and of a sandbox at once. */
#define ATTENDED_PROJECT_MAX (WORKERS / 2)
#define ATTENDED_SANDBOX_MAX 2
#define ARTIFACT_SAVER_MAX 3
#define KEEPING_PROJECT_MAX 2

/* One that this process is starting: its row has no process yet, and that is right. */
struct starting {
	struct list item;
	const char *id;
};

/* Whose files are being fetched. */
struct keeping {
	struct list item;
	const char *sandbox_id, *project_id;
};

/* A caller who waits until one settles. */
struct waiter {
	struct list item;
	const char *id;
	bool has_settled;
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
	struct list starting, waiters, keeping;
	struct list delivering; /* messages that are sent: deliver.c */
	pthread_cond_t settled; /* for one of the waiters */
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
	bool is_slow;       /* its files are to be fetched */
	int64_t keep_until; /* monotonic; 0 = nobody here has begun to */
};
void job_attend(struct jobs *jobs, struct attention *at);
/* Why a job ends that no process can tell of. */
struct job_loss {
	const char *reason; /* for people; NULL = it is not lost */
	const char *cause;  /* JOB_CAUSE_… */
};
/* Why one that runs by its row cannot. */
struct job_loss job_find_loss(struct arena *a, const struct job_record *r);
/* The same question, where the answer alone counts. */
bool job_is_lost(const struct job_record *r);

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

/* One at a time of a sandbox, and not all of the slow lane. False when others have to end first;
 * until the end *k has to stay. */
MUST_CHECK bool job_keep_begin(struct jobs *jobs, struct keeping *k);
void job_keep_end(struct jobs *jobs, struct keeping *k);
/* Before its end is settled. Fails when they can be kept later; what never can is left out. */
MUST_CHECK int job_keep_files(struct jobs *jobs, struct arena *a, const struct job_record *r,
                              int64_t deadline, struct error *err);

/* ---- end.c ---- */

/* By what the agent tells of the process. One whose files are kept has then been told of, and the
 * watch, which knows of it, is to settle it. */
MUST_CHECK int job_finish_process(struct jobs *jobs, struct arena *a, const struct job_record *r,
                                  const struct agent_process *p, struct error *err);
/* As it was told: its files are kept. */
MUST_CHECK int job_finish_told(struct jobs *jobs, struct arena *a, const char *id,
                               struct error *err);
/* It is lost, or its files are. */
MUST_CHECK int job_finish_lost(struct jobs *jobs, struct arena *a, const char *id,
                               const struct job_loss *loss, struct error *err);
/* Asks the agent to tell of its end. */
MUST_CHECK int job_await(struct jobs *jobs, const struct job_record *r, int *ret_fd,
                         struct error *err);
/* The answer to that; blocks. The connection stays the caller's. */
MUST_CHECK int job_await_answer(struct jobs *jobs, int fd, struct arena *a, int64_t deadline,
                                struct agent_process *ret, struct error *err);
/* From begin to end: waits until somebody here has settled it, or the deadline. */
void waiter_begin(struct jobs *jobs, struct waiter *w, const char *id);
void waiter_wait(struct jobs *jobs, struct waiter *w, int64_t deadline);
void waiter_end(struct jobs *jobs, struct waiter *w);
void job_token_hash(struct span token, unsigned char ret[KEY_HASH_SIZE]);
