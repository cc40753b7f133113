/* SPDX-License-Identifier: Apache-2.0 */
/* provider/compute.h — calls for workers, each one request to the agent and its reply. Part of the
 * contract of provider.h, which includes it. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "wire/agent.h"

struct cancel;
struct provider;

/* Opens a stream and sends one request. The caller reads the replies: on a worker through
 * provider/agent_reader.h, on the loop through a relay. Refused at once while the agent is
 * unresponsive, see provider/agent_health.h. */
struct compute_request {
	uint16_t type; /* enum agent_type */
	const struct wire_member *shape;
	const void *message;
	const struct cancel *cancel; /* ends the wait for the agent; NULL: cancel_current does */
};
MUST_CHECK int compute_open(struct provider *p, const char *id,
                            const struct compute_request *request, int64_t deadline, int *ret_fd,
                            struct error *err);
/* A first request comes soon: a connection waits for it, if one can be had without waiting. */
void compute_expect(struct provider *p, const char *id);
/* For a connection of compute_open whose last reply has ended (else close it). Process connections
 * wait for the next request, file connections, which belong to one user, are closed. Any thread. */
void compute_give_back(struct provider *p, const char *id, int fd);
/* One request that is answered by at most one message of `reply_type` and then DONE (or by DONE or
 * AGENT_FAILED alone, which becomes err). `reply` may be NULL. */
struct compute_call {
	uint16_t type;
	const struct wire_member *shape;
	const void *message;
	uint16_t reply_type;
	const struct wire_member *reply_shape;
	void *reply;
	size_t reply_size;
	struct agent_done *done;
	/* For replies of many messages (LIST, …): called with each; `reply` is reused. */
	int (*on_reply)(void *context, const void *reply, struct error *err);
	void *context;
	const struct cancel *cancel; /* ends the wait for the agent; NULL: cancel_current does */
};
MUST_CHECK int compute_call(struct provider *p, const char *id, struct arena *a,
                            const struct compute_call *call, int64_t deadline, struct error *err);
/* Starts a process that outlives this connection (AGENT_EXEC_DETACH is among its flags). Answered
 * when the program has been executed, or could not be. */
struct compute_start {
	const struct agent_exec *exec;
	struct arena *arena; /* of the reply's texts */
	int64_t deadline;
};
MUST_CHECK int compute_start(struct provider *p, const char *id, const struct compute_start *start,
                             struct agent_process *ret, struct error *err);
/* Bytes for the standard input, or the terminal, of a process of another connection; and its end.
 */
MUST_CHECK int compute_feed(struct provider *p, const char *id, const struct agent_feed *feed,
                            int64_t deadline, struct error *err);
/* Every process that the agent knows, one at a time; its texts last for that call of `each`.
 * An agent may be hostile: ERROR_LIMIT behind COMPUTE_PROCESSES_MAX.
 */
#define COMPUTE_PROCESSES_MAX 4096
typedef void compute_process(void *context, const struct agent_process *p);
MUST_CHECK int compute_processes(struct provider *p, const char *id, compute_process *each,
                                 void *context, int64_t deadline, struct error *err);
/* Runs a command to its end and collects, for server-side use (grep, tool calls). */
struct compute_result {
	struct agent_process process;
	struct span out[2]; /* in the arena, at most out_max bytes each */
	bool truncated[2];
};
struct compute_run {
	const struct agent_exec *exec;
	size_t out_max;
	int64_t deadline;            /* then the command is ended */
	const struct cancel *cancel; /* the same when it is said; or NULL */
	/* Gets each piece in place of `out`; or NULL. */
	int (*on_output)(void *context, const struct agent_output *o, struct error *err);
	void *context;
};
MUST_CHECK int compute_run(struct provider *p, const char *id, struct arena *a,
                           const struct compute_run *run, struct compute_result *ret,
                           struct error *err);
/* Returns when a process has ended. Its output from `since` on is read and dropped. */
struct compute_wait {
	uint64_t process, since[2];
	int64_t deadline;
	const struct cancel *cancel; /* or NULL */
};
MUST_CHECK int compute_await_end(struct provider *p, const char *id,
                                 const struct compute_wait *wait, struct error *err);
/* AGENT_FAILED's payload as an error; ERROR_SYSTEM when it is malformed. Always returns -1. */
int compute_failed(struct span payload, struct error *err);
