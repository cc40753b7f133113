/* SPDX-License-Identifier: Apache-2.0 */
/* provider/compute.h — calls to the agent of a sandbox: one request and its reply. Part of the
 * contract of provider.h. Callers are workers; a call blocks until its deadline at most. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct agent_done;
struct agent_exec;
struct agent_feed;
struct agent_file;
struct agent_path;
struct agent_process;
struct agent_signal;
struct agent_terminal;
struct agent_terminal_state;
struct cancel;
struct provider;
struct wire_member;

/* Connects to the agent of a sandbox; the stream speaks wire/agent.h. provider/compute.h builds all
 * other calls on these. */
struct compute_ops {
	/* A new connection. The wait ends early with cancel_current (base/cancel.h). */
	int (*connect)(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
	               struct error *err);
	/* An idle connection, or -1. May be NULL. */
	int (*take)(struct provider *p, const char *id);
	bool carries_dials; /* no descriptor comes with an answer; see wire/agent_dial.h */
	/* Keeps a process connection whose last reply has ended for the next request, or closes
	 * it. */
	void (*give_back)(struct provider *p, const char *id, int fd);
};

struct compute_request {
	uint16_t type; /* enum agent_type */
	const struct wire_member *shape;
	const void *message;
	const struct cancel *cancel; /* ends the wait for the agent; NULL: cancel_current does */
};
/* Opens a stream and sends one request. The caller reads the replies: on a worker through
 * provider/agent_reader.h, on the loop through a relay. Fails at once while the agent is
 * unresponsive, see provider/agent_health.h. */
MUST_CHECK int compute_open(struct provider *p, const char *id,
                            const struct compute_request *request, int64_t deadline, int *ret_fd,
                            struct error *err);
/* Opens a connection without a request. */
MUST_CHECK int compute_connect(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                               struct error *err);
/* Opens a connection in advance for a first request that comes soon. Never waits. */
void compute_preconnect(struct provider *p, const char *id);
/* Returns a connection of compute_open whose last reply has ended (close all others). Process
 * connections wait for the next request; file connections belong to one user and are closed. Any
 * thread. */
void compute_give_back(struct provider *p, const char *id, int fd);

/* A request whose answer is at most one message of `reply_type` and then DONE, or DONE alone, or
 * AGENT_FAILED, which becomes err. */
struct compute_call {
	uint16_t type; /* enum agent_type */
	const struct wire_member *shape;
	const void *message;
	uint16_t reply_type;
	const struct wire_member *reply_shape;
	void *reply; /* or NULL */
	size_t reply_size;
	struct agent_done *done; /* or NULL */
	/* For answers of many messages (LIST, …): called with each; `reply` is reused. */
	int (*on_reply)(void *context, const void *reply, struct error *err);
	void *context;
	const struct cancel *cancel; /* ends the wait for the agent; NULL: cancel_current does */
};
MUST_CHECK int compute_call(struct provider *p, const char *id, struct arena *a,
                            const struct compute_call *call, int64_t deadline, struct error *err);

/* A request about files (AGENT_STAT, LIST, MKDIR, …) that the agent answers with entries. */
struct compute_file {
	uint16_t type; /* enum agent_type */
	const struct agent_path *path;
	int64_t deadline;
	/* Called with each struct agent_file; NULL: there is at most one. */
	int (*on_file)(void *context, const void *file, struct error *err);
	void *context;
};
/* `ret` is the last entry; NULL: it is not needed. */
MUST_CHECK int compute_file(struct provider *p, const char *id, struct arena *a,
                            const struct compute_file *file, struct agent_file *ret,
                            struct error *err);

struct compute_start {
	const struct agent_exec *exec;
	struct arena *arena; /* of the reply's texts */
	int64_t deadline;
};
/* Starts a process that outlives this connection (`exec` has AGENT_EXEC_DETACH). Returns when the
 * program has been executed, or could not be. */
MUST_CHECK int compute_start(struct provider *p, const char *id, const struct compute_start *start,
                             struct agent_process *ret, struct error *err);
/* Writes to the standard input, or the terminal, of a process of another connection, or closes it.
 */
MUST_CHECK int compute_feed(struct provider *p, const char *id, const struct agent_feed *feed,
                            int64_t deadline, struct error *err);

/* AGENT_SIGNAL, or AGENT_FORGET for a process that has ended. */
MUST_CHECK int compute_signal(struct provider *p, const char *id, uint16_t type,
                              const struct agent_signal *signal, int64_t deadline,
                              struct error *err);
/* Changes a terminal, if the request says so, and returns its state. */
MUST_CHECK int compute_terminal(struct provider *p, const char *id,
                                const struct agent_terminal *change, int64_t deadline,
                                struct agent_terminal_state *ret, struct error *err);

/* The agent may be hostile: ERROR_LIMIT past this number. */
#define COMPUTE_PROCESSES_MAX 4096
typedef void compute_process(void *context, const struct agent_process *p);
/* Calls `each` for every process that the agent knows. The texts last for that call. */
MUST_CHECK int compute_processes(struct provider *p, const char *id, compute_process *each,
                                 void *context, int64_t deadline, struct error *err);

struct compute_wait {
	uint64_t process;
	uint64_t since[2]; /* offsets of stdout and stderr */
	int64_t deadline;
	const struct cancel *cancel; /* or NULL */
};
/* Returns when a process has ended. Reads and drops its output from `since` on. */
MUST_CHECK int compute_await_end(struct provider *p, const char *id,
                                 const struct compute_wait *wait, struct error *err);
/* Whether the first word of the command names no program; the agent answers NOT_FOUND for users and
 * folders too. */
bool compute_lacks_program(const struct error *err);
/* Turns the payload of AGENT_FAILED into an error; ERROR_SYSTEM when it is malformed. Always
 * returns -1. */
int compute_failed(struct span payload, struct error *err);
