/* SPDX-License-Identifier: Apache-2.0 */
/* job/job.h — background jobs: commands that outlive their call.
 *
 * The row of a job exists before its command starts, and the result is recorded once. The first of
 * these records it: the server's watch thread, which asks the sandbox's agent and resumes after a
 * restart of the server; the agent's own post, authorized by a token of this job; a reader of the
 * row when the sandbox is gone. A compare and set of the row makes the record unique. For a job
 * that keeps files, the end is noted first; the watch of the server that has the sandbox then
 * fetches the files and records the result.
 *
 * A job belongs to its conversation: a request with another conversation does not find it. Any
 * worker may call; calls block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define JOB_RUNNING_MAX 10 /* of one sandbox */

struct activity_log;
struct agent_exec;
struct agent_process;
struct config;
struct fleet;
struct job_record;
struct job_ref;
struct json_shape;
struct sandbox_record;
struct store;

struct jobs;
struct jobs_options {
	const struct config *config;
	struct store *store;
	struct fleet *fleet;
	const char *node;
	struct activity_log *activity; /* records each job at its end; or NULL */
};
MUST_CHECK int jobs_open(const struct jobs_options *options, struct jobs **ret, struct error *err);
/* Commands continue; the next server watches them. NULL is fine. */
void jobs_close(struct jobs *jobs);

/* The message that started a job, and so the channel that gets its result. */
struct job_origin {
	int type;               /* enum job_channel */
	const char *credential; /* NULL: the channel with the name of the type */
	const char *channel, *thread, *message, *chat, *user, *page, *repository, *issue;
};
extern const struct json_shape job_origin_shape;
/* Checks that it has the members of its type and no others. */
MUST_CHECK int job_origin_check(const struct job_origin *origin, struct error *err);
/* Name of the channel whose credential sends its messages. */
const char *job_origin_credential(const struct job_origin *origin);

#define CHANNEL_NAME_MAX 64
#define CHANNEL_TOKEN_MAX 512
#define CHANNELS_MAX 50 /* of a project */
/* Checks a project's channel; refuses values that would break a request. */
struct channel_record;
MUST_CHECK int job_channel_check(const struct channel_record *r, bool allow_private,
                                 struct error *err);

/* The files that are kept when the process has ended: those made or changed below root/folder. A
 * lost job keeps none. */
struct job_keep {
	const char *root;   /* NULL = nothing is kept */
	const char *folder; /* relative, checked; links cannot leave the root; "." = the root */
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
	const char **const *args; /* alternatives: the first whose program exists runs */
	unsigned args_count;
	int64_t deadline;
};
struct job_started {
	const char *id;
	const struct agent_process *process; /* just after its start; in the arena */
};
/* ERROR_LIMIT when JOB_RUNNING_MAX run in the sandbox already. */
MUST_CHECK int job_start(struct jobs *jobs, struct arena *a, const struct job_request *request,
                         struct job_started *ret, struct error *err);
/* Records the failure of a job whose sandbox is gone. */
MUST_CHECK int job_find(struct jobs *jobs, struct arena *a, const struct job_ref *ref,
                        struct job_record *ret, struct error *err);
/* Sends SIGTERM, then kills the process and its descendants. Succeeds when the job has ended. The
 * job may still be RUNNING afterwards while many files are fetched. */
MUST_CHECK int job_stop(struct jobs *jobs, struct arena *a, const struct job_ref *ref,
                        struct job_record *ret, struct error *err);

/* Output of each stream from an offset on. A negative offset counts from the end. */
#define JOB_LOGS_MAX (256 * 1024)
struct job_logs_request {
	int64_t since[2];
	size_t max; /* bytes of each stream, up to JOB_LOGS_MAX */
};
struct job_logs {
	struct span out[2];
	int64_t offset[2]; /* of the first byte; earlier bytes are lost or were not wanted */
	int64_t next[2];   /* `since` of the next call */
	int64_t end[2];    /* total bytes written */
};
MUST_CHECK int job_logs(struct jobs *jobs, struct arena *a, const struct job_record *r,
                        const struct job_logs_request *request, struct job_logs *ret,
                        struct error *err);

/* A message waits for delivery again. */
void job_redelivered(struct jobs *jobs);

/* Called by the agent's post from inside the sandbox. ERROR_UNAUTHENTICATED for a wrong or expired
 * token and for an unknown job; ERROR_CONFLICT when the job has ended. */
#define JOB_TOKEN_SIZE 44
struct job_completion {
	bool is_completed;
	int64_t exit_code;
	const char *cause;  /* a word of wire/agent_cause.h */
	struct span out[2]; /* the last bytes of each stream */
};
MUST_CHECK int job_complete(struct jobs *jobs, const char *id, struct span token,
                            const struct job_completion *completion, struct error *err);
