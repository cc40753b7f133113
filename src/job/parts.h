/* SPDX-License-Identifier: Apache-2.0 */
/* job/parts.h — the state and functions that the files of this folder share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "job/job.h"
#include "store/jobs.h"

struct worker_pool;

/* Bytes of each stream that the row keeps. */
#define TAIL_MAX (32 * 1024)
#define AGENT_CALL_MS 5000
#define FRAME_MS 1000 /* from the first byte of an answer to its last */
/* Time to fetch all files of a job, from the first try; then they are lost. */
#define KEEP_MS (5 * 60 * 1000)
/* Time of a try that begins after that, because it had to wait. */
#define KEEP_TRY_MS 30000
/* Threads of the lanes for agents; the slow lane, for files and messages, has as many. */
#define WORKERS 8
/* Concurrent calls to agents: for the jobs of one project, and of one sandbox. */
#define ATTENDED_PROJECT_MAX (WORKERS / 2)
#define ATTENDED_SANDBOX_MAX 2
#define ARTIFACT_SAVER_MAX 3
#define KEEPING_PROJECT_MAX 2

/* A job that this process is starting: its row has no process yet. */
struct starting {
	struct list item;
	const char *id;
};

/* A job whose files are being fetched. */
struct keeping {
	struct list item;
	const char *sandbox_id, *project_id;
};

/* A caller that waits for the result of a job. */
struct waiter {
	struct list item;
	const char *id;
	bool has_settled;
};

struct jobs {
	const struct config *config;
	struct store *store;
	struct fleet *fleet;
	const char *node;
	struct activity_log *activity; /* or NULL */
	struct worker_pool *workers;
	pthread_t thread;
	bool has_thread;
	int wake; /* an eventfd */
	atomic_bool is_stopping;
	atomic_bool has_news;   /* new rows */
	atomic_bool has_ended;  /* a job ended: messages may be due */
	atomic_uint deliveries; /* in progress */

	pthread_mutex_t mutex; /* guards the rest of this block */
	struct list starting, waiters, keeping;
	struct list delivering; /* messages being sent: deliver.c */
	pthread_cond_t settled; /* a waiter's job has its result */
	struct attending *finished;

	/* used by the watch thread only */
	struct list watches;
	int64_t list_at, purge_at, deliver_at; /* monotonic */
};

/* watch.c */

/* Tells the watch thread of a new job. Any thread. */
void jobs_wake(struct jobs *jobs);
/* Wakes the watch thread. */
void jobs_ring(struct jobs *jobs);
/* Change a list that the mutex guards. */
void jobs_add(struct jobs *jobs, struct list *list, struct list *item);
void jobs_remove(struct jobs *jobs, struct list *item);

/* deliver.c */

/* Starts due deliveries and sets deliver_at. Watch thread. */
MUST_CHECK int jobs_deliver(struct jobs *jobs, struct error *err);

/* record.c */

/* Records the activity of a job that has its result. */
void job_note_end(struct jobs *jobs, struct arena *a, const struct job_record *r);

/* text.c */

/* The text in a JSON string of the row. */
struct span job_text_of(struct arena *a, const char *json);

/* start.c */

bool job_is_starting(struct jobs *jobs, const char *id);

/* attend.c */

/* One round of work for a job. `fd`: a readable connection that awaits the job's end, or -1.
 * Afterwards, unless the job is over, `fd` awaits its end, or is -1: try again. */
struct attention {
	const char *id;
	int fd;
	bool is_over;
	bool is_slow;       /* the files have to be fetched */
	int64_t keep_until; /* monotonic; 0 = not begun */
};
void job_attend(struct jobs *jobs, struct attention *at);
/* Why a job is lost: no process can report its end. */
struct job_loss {
	const char *reason; /* for people; NULL = it is not lost */
	const char *cause;  /* JOB_CAUSE_… */
};
/* Why a job whose row says RUNNING cannot run. */
struct job_loss job_find_loss(struct arena *a, const struct job_record *r);
/* The same without the reason. */
bool job_is_lost(const struct job_record *r);

/* tail.c */

/* job_logs by the agent alone. */
MUST_CHECK int job_tail(struct jobs *jobs, struct arena *a, const struct job_record *r,
                        const struct job_logs_request *request, struct job_logs *ret,
                        struct error *err);

/* keep.c */

/* Admits one job per sandbox, and not the whole slow lane. False when others must end first. *k
 * stays in the list until jobs_remove. */
MUST_CHECK bool job_keep_begin(struct jobs *jobs, struct keeping *k);
/* Keeps the files before the result is recorded. Fails when a later try may succeed; leaves out
 * files that can never be kept. */
MUST_CHECK int job_keep_files(struct jobs *jobs, struct arena *a, const struct job_record *r,
                              int64_t deadline, struct error *err);

/* end.c */

/* Records the result from the agent's report. For a job that keeps files it notes the end; the
 * watch records the result. */
MUST_CHECK int job_finish_process(struct jobs *jobs, struct arena *a, const struct job_record *r,
                                  const struct agent_process *p, struct error *err);
/* Records the result. `end` NULL: the noted one, because its files are kept. */
MUST_CHECK int job_record_end(struct jobs *jobs, struct arena *a, const char *id,
                              const struct job_end *end, struct error *err);
/* Records that the job, or its files, are lost. */
MUST_CHECK int job_finish_lost(struct jobs *jobs, struct arena *a, const char *id,
                               const struct job_loss *loss, struct error *err);
/* Asks the agent for the process of a job whose start was not noted, and notes it. */
MUST_CHECK int job_find_process(struct jobs *jobs, struct arena *a, struct job_record *r,
                                struct error *err);
/* Asks the agent to report the end. */
MUST_CHECK int job_await(struct jobs *jobs, const struct job_record *r, int *ret_fd,
                         struct error *err);
/* Reads that report; blocks. The caller keeps the connection. */
MUST_CHECK int job_await_answer(int fd, struct arena *a, int64_t deadline,
                                struct agent_process *ret, struct error *err);
/* Returns when this process has recorded the result for the waiter, which is in the list, or at the
 * deadline. */
void waiter_wait(struct jobs *jobs, struct waiter *w, int64_t deadline);
/* Drops the jobs that ended long ago, now and then. Watch thread. */
MUST_CHECK int jobs_purge(struct jobs *jobs, struct error *err);
void job_token_hash(struct span token, unsigned char ret[JOB_TOKEN_HASH_SIZE]);
