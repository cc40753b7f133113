/* SPDX-License-Identifier: Apache-2.0 */
/* store/jobs.h — commands that outlive their call. Part of the store's contract, see store.h.
 *
 * A row is there before its command is started, so that none can be lost, and settles once: by
 * compare and set on RUNNING, together with its event. Who comes second gets ERROR_CONFLICT and has
 * changed nothing, be it the server's own watch, the post from inside or another server. Of one
 * whose files are kept the end is told first, also once, and settles when they are there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

enum job_state { JOB_RUNNING, JOB_COMPLETED, JOB_FAILED, JOB_STOPPED, JOB_STATE_COUNT };
const char *job_state_name(enum job_state state);

/* Where its end is told. */
enum job_channel {
	JOB_CHANNEL_NONE,
	JOB_CHANNEL_STREAM,  /* /v1/events alone, which tells of every job */
	JOB_CHANNEL_WEBHOOK, /* agent.finished, to the project's webhooks */
	JOB_CHANNEL_SLACK,
	JOB_CHANNEL_DISCORD,
	JOB_CHANNEL_TELEGRAM,
	JOB_CHANNEL_GITHUB,
	JOB_CHANNEL_ZALO,
	JOB_CHANNEL_PANCAKE,
	JOB_CHANNEL_COUNT,
};
const char *job_channel_name(enum job_channel channel);
/* Those that a message is sent to, from SLACK on. */
bool job_channel_is_chat(enum job_channel channel);

/* Of that message. SENDING: somebody has begun; should he be gone by delivery_at, nobody knows
 * whether it arrived, and it is DEAD: a person decides. */
enum job_delivery {
	JOB_DELIVERY_NONE,
	JOB_DELIVERY_WAITING,
	JOB_DELIVERY_SENDING,
	JOB_DELIVERY_DELIVERED,
	JOB_DELIVERY_DEAD,
	JOB_DELIVERY_COUNT,
};
const char *job_delivery_name(enum job_delivery delivery);

/* Causes of a job whose process tells no end. */
#define JOB_CAUSE_SANDBOX "sandbox_ended" /* its sandbox was stopped, deleted or has failed */
#define JOB_CAUSE_LOST "lost"             /* its process was not started, or is not there */

/* How it ended. */
struct job_end {
	enum job_state state;
	int64_t exit_code; /* -1 = it is not known */
	const char *reason;
	const char *cause; /* a word: of agent_process_cause, or one of JOB_CAUSE_ */
	/* The last bytes of stdout and stderr, each as a JSON text; "" = not known. */
	const char *stdout_json, *stderr_json;
	int64_t stdout_bytes, stderr_bytes; /* written in all */
	int64_t ended_at;
};

struct job_record {
	const char *id, *project_id, *sandbox_id, *key_id;
	const char *conversation; /* who may ask for it; "" = who has none */
	enum job_channel channel;
	const char *origin_json; /* who there */
	const char *command;     /* for people; its beginning */
	int64_t process;         /* 0 until it is known to have started */
	const char *boot_id;     /* of the agent that it was started by */
	enum job_state state;
	bool is_stopping; /* somebody has asked for its end */
	int64_t exit_code;
	const char *reason, *cause, *stdout_json, *stderr_json;
	int64_t stdout_bytes, stderr_bytes;
	unsigned char
	        token_hash[KEY_HASH_SIZE]; /* of the token that may post its end; zeros = none */
	int64_t token_expires_at;
	int64_t created_at, ended_at;
	enum job_delivery delivery;
	int64_t delivery_tries, delivery_status, delivery_at;
	const char *delivery_error;
	/* What it leaves in the folder, below the root, is kept at its end, read as that user;
	 * root "" = nothing is. */
	const char *keep_root, *keep_folder, *keep_user;
	const char *run; /* of Atoll-Run, for what is kept; "" = none */
	/* How it has ended, while its files are fetched; RUNNING = nobody has told. What it wrote,
	 * its exit code and so on are not to be seen before it settles. */
	enum job_state told;
	int64_t started_at; /* of its process, by the clock inside; 0 = not known */
	/* Of its sandbox, as it is now; only read. DELETED and "" when it has no row. */
	enum sandbox_state actual;
	const char *node, *sandbox_reason; /* the second as sandbox_reason_name */
};
struct job_list {
	struct job_record *items;
	size_t count;
};

/* In RUNNING. ERROR_LIMIT when its sandbox has running_max running ones already. */
MUST_CHECK int store_job_insert(struct store *s, const struct job_record *r, unsigned running_max,
                                struct error *err);
struct job_ref {
	const char *project_id, *conversation; /* both NULL: the server's own use */
	const char *id;
};
MUST_CHECK int store_job_find(struct store *s, struct arena *a, const struct job_ref *ref,
                              struct job_record *ret, struct error *err);
/* The same without what it wrote, for the server's own use: of a job that runs it may be much, and
 * is not to be seen. */
MUST_CHECK int store_job_look(struct store *s, struct arena *a, const char *id,
                              struct job_record *ret, struct error *err);
struct job_page {
	const char *project_id, *conversation;
	const char *sandbox_id, *state; /* NULL = any */
	int64_t before; /* created_at of the last one of the page before; 0 = none */
	int64_t limit;  /* 1..1000 */
};
/* Newest first. */
MUST_CHECK int store_job_list(struct store *s, struct arena *a, const struct job_page *page,
                              struct job_list *ret, struct error *err);
/* At most 1000 that run, by id, after this one ("" = from the first). Of each only id, told, actual
 * and node are set. */
MUST_CHECK int store_job_running(struct store *s, struct arena *a, const char *after,
                                 struct job_list *ret, struct error *err);
/* Its process; fine when it has ended meanwhile. ERROR_CONFLICT when it has another one. */
struct job_start {
	const char *id, *boot_id;
	int64_t process, started_at;
};
MUST_CHECK int store_job_started(struct store *s, const struct job_start *start, struct error *err);
/* From now on its end is a stop. ERROR_CONFLICT when it has ended. */
MUST_CHECK int store_job_stopping(struct store *s, const char *id, struct error *err);
/* How it has ended, which is to be settled when its files are there. ERROR_CONFLICT when that has
 * been told, or it has settled. */
MUST_CHECK int store_job_told(struct store *s, const char *id, const struct job_end *end,
                              struct error *err);
/* From RUNNING to how it ended, with its event; *ret is the row as it is now. Of one whose end has
 * been told that end counts: `end` says then why its files are lost, or is NULL: they are not. */
MUST_CHECK int store_job_settle(struct store *s, struct arena *a, const char *id,
                                const struct job_end *end, struct job_record *ret,
                                struct error *err);
/* ---- messages about ends ---- */

/* At most 16 that are due, and when the next one will be; 0 when none waits. */
MUST_CHECK int store_job_to_deliver(struct store *s, struct arena *a, int64_t now,
                                    struct job_list *ret, struct error *err);
MUST_CHECK int store_job_next_delivery(struct store *s, int64_t *ret_at, struct error *err);
struct job_delivery_change {
	const char *id;
	int64_t tries; /* as read; one more after a claim */
	enum job_delivery delivery;
	int64_t status, at;
	const char *error;
};
/* From WAITING to SENDING until `at`. ERROR_CONFLICT when somebody else was faster. */
MUST_CHECK int store_job_delivery_claim(struct store *s, const struct job_delivery_change *c,
                                        struct error *err);
MUST_CHECK int store_job_delivery_end(struct store *s, const struct job_delivery_change *c,
                                      struct error *err);
/* Those that were to be sent by `at` and have no end are DEAD. */
MUST_CHECK int store_job_deliveries_lost(struct store *s, const struct job_delivery_change *c,
                                         struct error *err);
/* Of the project and id, from an end to WAITING, as if it were new. */
MUST_CHECK int store_job_deliver_again(struct store *s, const struct job_ref *ref,
                                       struct error *err);
struct job_delivery_page {
	const char *project_id, *delivery; /* a state, or NULL = any */
	int64_t before, limit;             /* as of job_page */
};
MUST_CHECK int store_job_deliveries(struct store *s, struct arena *a,
                                    const struct job_delivery_page *page, struct job_list *ret,
                                    struct error *err);

/* One that was never started. Fine when it is not there. */
MUST_CHECK int store_job_remove(struct store *s, const char *id, struct error *err);
/* Drops what ended before: a few thousand per call. */
MUST_CHECK int store_job_purge(struct store *s, int64_t ended_before, struct error *err);
