/* SPDX-License-Identifier: Apache-2.0 */
/* job/job.h — background jobs: commands that outlive their call, and are never lost of sight.
 *
 * A job is a row before its command is started and settles once. Whoever sees its end first settles
 * it: the server's watch, which asks the sandbox's agent and begins again after a restart of the
 * server; the agent's own post, by a token that is good for this job alone; or a look at the row
 * when its sandbox is gone. The row decides, by compare and set, so its end is told once. Where
 * files are kept, who sees the end first writes it down, and the watch of the server that has the
 * sandbox fetches them and settles.
 *
 * A job is its conversation's: who asks for it by another one does not find it. Any worker may
 * call; calls block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "fleet/fleet.h"
#include "json/json.h"
#include "store/jobs.h"
#include "wire/agent.h"

#define JOB_RUNNING_MAX 10 /* of one sandbox */

struct jobs;
struct jobs_options {
	const struct config *config;
	struct store *store;
	struct fleet *fleet;
	struct provider *provider;
	const char *node;
};
MUST_CHECK int jobs_open(const struct jobs_options *options, struct jobs **ret, struct error *err);
/* Commands go on, and are watched again by the next server. NULL is fine. */
void jobs_close(struct jobs *jobs);

/* ---- pure parts ---- */

/* Where the turn came from that a job was started in, and so where its end is told. */
struct job_origin {
	int type;               /* enum job_channel */
	const char *credential; /* NULL: the channel that is named as the type */
	const char *channel, *thread, *message, *chat, *user, *page, *repository, *issue;
};
extern const struct json_shape job_origin_shape;
/* That it names what its type needs, and nothing else. */
MUST_CHECK int job_origin_check(const struct job_origin *origin, struct error *err);
/* The name of the channel that its messages are sent with. */
const char *job_origin_credential(const struct job_origin *origin);

#define CHANNEL_NAME_MAX 64
#define CHANNEL_TOKEN_MAX 512
#define CHANNELS_MAX 50 /* of a project */
/* What a project's messages are to be sent with; refuses what would break a request. */
struct channel_record;
MUST_CHECK int job_channel_check(const struct channel_record *r, bool allow_private,
                                 struct error *err);

#define JOB_CONVERSATION_MAX 128
/* 1..128 of [A-Za-z0-9._:@/+=-]; NULL and "" are fine: none. */
MUST_CHECK int job_conversation_check(const char *conversation, struct error *err);

/* ---- calls ---- */

/* What of the job's files is kept, once, when its process has ended: those that it has made or
 * changed below root/folder. Of a job that is lost there are none. */
struct job_keep {
	const char *root;   /* NULL = nothing is kept */
	const char *folder; /* relative, checked; no link leads out of the root; "." = the root */
	const char *run;    /* NULL = none */
};
struct job_request {
	const struct sandbox_record *sandbox; /* held by the caller */
	const char *key_id;
	const char *conversation; /* NULL = none */
	const struct job_origin *origin;
	const char *command;           /* for people */
	const struct agent_exec *exec; /* all but args */
	struct job_keep keep;
	const char **const *args; /* the first whose program exists inside runs */
	unsigned args_count;
	int64_t deadline;
};
struct job_started {
	const char *id;
	struct agent_process process; /* as it has just started */
};
/* ERROR_LIMIT when JOB_RUNNING_MAX run in the sandbox already. */
MUST_CHECK int job_start(struct jobs *jobs, struct arena *a, const struct job_request *request,
                         struct job_started *ret, struct error *err);
/* One whose sandbox is gone has failed by the time this returns. */
MUST_CHECK int job_find(struct jobs *jobs, struct arena *a, const struct job_ref *ref,
                        struct job_record *ret, struct error *err);
/* Asks it to end, and kills it and all that it started when it does not. Fine when it has ended.
 * One that is RUNNING afterwards leaves more files than it is worth to wait for here. */
MUST_CHECK int job_stop(struct jobs *jobs, struct arena *a, const struct job_ref *ref,
                        struct job_record *ret, struct error *err);

/* What it wrote, each stream from an offset on. A negative offset is so far before the end. */
#define JOB_LOGS_MAX (256 * 1024)
struct job_logs_request {
	int64_t since[2];
	size_t max; /* bytes of each stream, up to JOB_LOGS_MAX */
};
struct job_logs {
	struct span out[2];
	int64_t offset[2]; /* of the first byte; what is before it is lost, or was not wanted */
	int64_t next[2];   /* `since` of the next call */
	int64_t end[2];    /* written in all */
};
MUST_CHECK int job_logs(struct jobs *jobs, struct arena *a, const struct job_record *r,
                        const struct job_logs_request *request, struct job_logs *ret,
                        struct error *err);

/* A message has been made to wait again. */
void job_redelivered(struct jobs *jobs);

/* From inside. A token that is not the job's, or not any more, is ERROR_UNAUTHENTICATED, as is
 * a job that there is not; one that has ended is ERROR_CONFLICT. */
#define JOB_TOKEN_SIZE 44
struct job_completion {
	bool is_completed;
	int64_t exit_code;
	const char *cause;  /* a word of wire/agent_cause.h */
	struct span out[2]; /* their ends */
};
MUST_CHECK int job_complete(struct jobs *jobs, const char *id, struct span token,
                            const struct job_completion *completion, struct error *err);
