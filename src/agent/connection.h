/* SPDX-License-Identifier: Apache-2.0 */
/* agent/connection.h — one stream from outside: frames in, replies and output back.
 *
 * While a connection is attached to a process, only messages for that process are handled; others
 * wait, in order, until EXIT or DONE. A message for a process that has just ended is dropped, since
 * its sender could not know. Replies that the socket does not take are kept (bounded), and nothing
 * more is read until they are sent. A file message hands the connection to a file worker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/process.h"
#include "agent/state.h"
#include "base/bytes.h"
#include "wire/agent.h"

#define CONNECTIONS_MAX 512 /* above the default of requests_per_key_max */
#define CONNECTION_STALL_MS 2000

struct connection {
	struct watch watch;
	struct list item;
	struct agent *agent;
	struct buf in, out;
	int64_t took_at; /* when the peer last read some of `out`, or `out` began to fill */

	struct process *process; /* started or attached */
	struct list viewer;      /* in process->viewers when attached */
	bool attached, read_only;
	bool ends_process;    /* kill the process when this connection breaks */
	bool corked;          /* frames stay in `out` until connection_uncork */
	bool detached_start;  /* DONE follows STARTED */
	struct job *job;      /* the job of its next command, or NULL */
	uint64_t awaited;     /* the process whose end it awaits; 0 = none */
	uint64_t next[2];     /* first offsets not sent */
	uint64_t until[2];    /* detaches there */
	struct process *full; /* reading pauses until its stdin has room */
	bool held;            /* a message waits until the connection is detached */
	bool waiting;         /* connections_handle_waiting handles `in` again */
	int64_t patience; /* until when its EXEC waits for a warm interpreter; 0 = it does not wait
	                   */

	int64_t room_until; /* until when its file message waits for a free process; 0 = it does not
	                       wait */

	pid_t worker; /* serves this connection; 0 = the agent does */
	struct worker_rest *rest;
	struct stops stops; /* of the worker, unless it is the standby process */
};

void connection_accept(struct agent *a, int fd);
void connection_close(struct connection *c);
void connection_free_closed(struct agent *a);

void connection_send(struct connection *c, uint16_t type, const struct wire_member *shape,
                     const void *message);
void connection_send_done(struct connection *c, uint64_t count);
/* The same with a descriptor, which the caller keeps. */
MUST_CHECK int connection_send_done_with_fd(struct connection *c, int fd, struct error *err);
void connection_send_failed(struct connection *c, const struct error *err);
/* Frames between cork and uncork are sent in one piece. */
void connection_cork(struct connection *c);
void connection_uncork(struct connection *c);
/* Handles the new `bytes` and all frames that may be handled now. */
void connection_handle(struct connection *c, struct span bytes);

/* Called by the process: it has started; it could not start or is gone; it has output or an end. */
void connection_on_started(struct connection *c);
void connection_on_lost(struct connection *c, const struct error *err);
void connection_attach(struct connection *c, struct process *p);
void connection_detach(struct connection *c);
void connection_flush(struct connection *c);
/* The peer has read nothing of `out` for CONNECTION_STALL_MS. */
bool connection_is_stalled(const struct connection *c);
/* The process' stdin has room again. */
void connections_resume(struct agent *a, struct process *p);
/* Retries each EXEC that waits for a warm interpreter whose patience ended before `now`, or all of
 * them if one is ready. */
void connections_look_for_warm(struct agent *a, int64_t now, bool there_is_one);
int64_t connections_next_patience(struct agent *a);
/* Retries the file message that has waited longest for a process, and fails those whose time is
 * over. Sets a->standby.look_at, the time of the next call. */
void connections_look_for_room(struct agent *a, int64_t now);
/* Tells the connections that await this process that it has ended, or is lost. */
void connections_tell_end(struct process *p);
void connections_tell_lost(struct process *p, const struct error *err);
/* Continues connections whose wait ended during this round of events. Called after the round, so
 * that no request runs in the middle of another one's loop. */
void connections_handle_waiting(struct agent *a);

/* requests.c: handles one frame. 1 = handled, 0 = not now, -1 = the connection must be closed. */
MUST_CHECK int request_run(struct connection *c, uint16_t type, struct span payload,
                           struct error *err);
