/* SPDX-License-Identifier: Apache-2.0 */
/* store/jobs.h — background jobs: commands that outlive their call.
 *
 * A row is inserted before its command starts, so no command is lost. Its result is recorded once,
 * by compare and set on RUNNING, together with its event; a second attempt gets ERROR_CONFLICT and
 * changes nothing, whether it comes from the server's watch, the post from inside the sandbox, or
 * another server. When files of a job are kept, its end is reported first (store_job_set_reported),
 * and the result is recorded when the files are stored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct store;

enum job_state { JOB_RUNNING, JOB_COMPLETED, JOB_FAILED, JOB_STOPPED, JOB_STATE_COUNT };
const char *job_state_name(enum job_state state);

/* Where the end of a job is announced. */
enum job_channel {
	JOB_CHANNEL_NONE,
	JOB_CHANNEL_STREAM,  /* only /v1/events, which has every job */
	JOB_CHANNEL_WEBHOOK, /* agent.finished to the project's webhooks */
	JOB_CHANNEL_SLACK,
	JOB_CHANNEL_DISCORD,
	JOB_CHANNEL_TELEGRAM,
	JOB_CHANNEL_GITHUB,
	JOB_CHANNEL_ZALO,
	JOB_CHANNEL_PANCAKE,
	JOB_CHANNEL_COUNT,
};
const char *job_channel_name(enum job_channel channel);
/* True for channels that receive a chat message: SLACK and later. */
bool job_channel_is_chat(enum job_channel channel);

/* State of the chat message. SENDING: an attempt runs; when it has no result by delivery_at, it is
 * unknown whether the message arrived: it becomes DEAD and a person decides. */
enum job_delivery {
	JOB_DELIVERY_NONE,
	JOB_DELIVERY_WAITING,
	JOB_DELIVERY_SENDING,
	JOB_DELIVERY_DELIVERED,
	JOB_DELIVERY_DEAD,
	JOB_DELIVERY_COUNT,
};
const char *job_delivery_name(enum job_delivery delivery);

/* Causes of a job whose process reports no end. */
#define JOB_CAUSE_SANDBOX "sandbox_ended" /* its sandbox was stopped or deleted, or has failed */
#define JOB_CAUSE_LOST "lost"             /* its process did not start or is missing */

/* The result of a job. */
struct job_end {
	enum job_state state;
	int64_t exit_code; /* -1 = unknown */
	const char *reason;
	const char *cause; /* a name of agent_process_cause or JOB_CAUSE_* */
	/* The last bytes of stdout and stderr, each as JSON text; "" = unknown. */
	const char *stdout_json, *stderr_json;
	int64_t stdout_bytes, stderr_bytes; /* total bytes written */
	int64_t ended_at;
};

#define JOB_TOKEN_HASH_SIZE 32 /* of SHA-256 */
struct job_record {
	const char *id, *project_id, *sandbox_id, *key_id;
	const char *conversation; /* conversation that may read it; "" = calls without one */
	enum job_channel channel;
	const char *origin_json; /* JSON: sender and place in the channel */
	const char *command;     /* for people; may be cut */
	int64_t process;         /* 0 until the start is known */
	const char *boot_id;     /* boot id of the agent that started it */
	enum job_state state;
	bool is_stopping; /* a stop was requested */
	int64_t exit_code;
	const char *reason, *cause, *stdout_json, *stderr_json;
	int64_t stdout_bytes, stderr_bytes;
	unsigned char token_hash[JOB_TOKEN_HASH_SIZE]; /* of the token that may post its end;
	                                                  zeros = none */
	int64_t token_expires_at;
	int64_t created_at, ended_at;
	enum job_delivery delivery;
	int64_t delivery_tries, delivery_status, delivery_at;
	const char *delivery_error;
	/* Files in keep_folder, below keep_root, are kept at its end, read as keep_user; root "" =
	 * none. */
	const char *keep_root, *keep_folder, *keep_user;
	const char *run; /* value of Atoll-Run, for kept files; "" = none */
	/* The reported end while files are fetched; RUNNING = none yet. Output, exit code and so on
	 * stay hidden until the result is recorded. */
	enum job_state told;
	int64_t started_at; /* process start by the clock inside the sandbox; 0 = unknown */
	/* Current state of its sandbox; read-only. DELETED and "" without a row. */
	enum sandbox_state actual;
	const char *node, *sandbox_reason; /* sandbox_reason: a sandbox_reason_name */
};
struct job_list {
	struct job_record *items;
	size_t count;
};

/* Inserts a RUNNING job. ERROR_LIMIT when its sandbox has running_max running jobs already. */
MUST_CHECK int store_job_insert(struct store *s, const struct job_record *r, unsigned running_max,
                                struct error *err);
struct job_ref {
	const char *project_id, *conversation; /* both NULL: for the server itself */
	const char *id;
};
MUST_CHECK int store_job_find(struct store *s, struct arena *a, const struct job_ref *ref,
                              struct job_record *ret, struct error *err);
/* Like store_job_find without the output, for the server itself: the output of a running job may be
 * large and is hidden. */
MUST_CHECK int store_job_look(struct store *s, struct arena *a, const char *id,
                              struct job_record *ret, struct error *err);
struct job_page {
	const char *project_id, *conversation;
	const char *sandbox_id, *state; /* NULL = any */
	int64_t before; /* created_at of the previous page's last item; 0 = first page */
	int64_t limit;  /* 1..1000 */
};
/* Newest first. */
MUST_CHECK int store_job_list(struct store *s, struct arena *a, const struct job_page *page,
                              struct job_list *ret, struct error *err);
/* At most 1000 running jobs with ids after `after` ("" = from the first), sorted by id. Only id,
 * told, actual and node are set. */
MUST_CHECK int store_job_running(struct store *s, struct arena *a, const char *after,
                                 struct job_list *ret, struct error *err);
/* Records the process; no error when the job has ended meanwhile. ERROR_CONFLICT when another
 * process is recorded. */
struct job_start {
	const char *id, *boot_id;
	int64_t process, started_at;
};
MUST_CHECK int store_job_started(struct store *s, const struct job_start *start, struct error *err);
/* Marks the job as stopping: its end becomes a stop. ERROR_CONFLICT when it has ended. */
MUST_CHECK int store_job_stopping(struct store *s, const char *id, struct error *err);
/* Reports the end; the result is recorded when the files are stored. ERROR_CONFLICT when the end
 * was reported or recorded already. */
MUST_CHECK int store_job_set_reported(struct store *s, const char *id, const struct job_end *end,
                                      struct error *err);
/* Records the result of a RUNNING job with its event; *ret is the new row. When the end was
 * reported before, that end counts; `end` then says why its files are lost, or is NULL when they
 * are stored. */
MUST_CHECK int store_job_finish(struct store *s, struct arena *a, const char *id,
                                const struct job_end *end, struct job_record *ret,
                                struct error *err);
/* store_job_to_deliver: at most 16 due messages. store_job_next_delivery: when the next one is due;
 * 0 = none. */
MUST_CHECK int store_job_to_deliver(struct store *s, struct arena *a, int64_t now,
                                    struct job_list *ret, struct error *err);
MUST_CHECK int store_job_next_delivery(struct store *s, int64_t *ret_at, struct error *err);
struct job_delivery_change {
	const char *id;
	int64_t tries; /* as read; a claim adds 1 */
	enum job_delivery delivery;
	int64_t status, at;
	const char *error;
};
/* Moves WAITING to SENDING until `at`. ERROR_CONFLICT when another server has claimed it. */
MUST_CHECK int store_job_delivery_claim(struct store *s, const struct job_delivery_change *c,
                                        struct error *err);
MUST_CHECK int store_job_delivery_end(struct store *s, const struct job_delivery_change *c,
                                      struct error *err);
/* Moves messages without a result by `at` to DEAD. */
MUST_CHECK int store_job_deliveries_lost(struct store *s, const struct job_delivery_change *c,
                                         struct error *err);
/* Moves a delivered or dead message back to WAITING. */
MUST_CHECK int store_job_deliver_again(struct store *s, const struct job_ref *ref,
                                       struct error *err);
struct job_delivery_page {
	const char *project_id, *delivery; /* delivery: a state name, or NULL = any */
	int64_t before, limit;             /* as in job_page */
};
MUST_CHECK int store_job_deliveries(struct store *s, struct arena *a,
                                    const struct job_delivery_page *page, struct job_list *ret,
                                    struct error *err);

/* Removes a job that was never started. No error without a row. */
MUST_CHECK int store_job_remove(struct store *s, const char *id, struct error *err);
/* Drops jobs that ended before: a few thousand per call. */
MUST_CHECK int store_job_purge(struct store *s, int64_t ended_before, struct error *err);
