/* SPDX-License-Identifier: Apache-2.0 */
/* agent/connection.h — one stream from outside: frames in, replies and output back.
 *
 * While a connection is attached to a process only messages for that process are taken; others
 * wait, in order, until EXIT or DONE. A message for a process that has just ended is dropped: its
 * sender could not know. Replies that do not fit into the socket are kept (bounded), and nothing
 * more is read until they have gone. A file message hands the connection to a worker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/process.h"
#include "agent/state.h"
#include "base/buf.h"
#include "wire/agent.h"

#define CONNECTIONS_MAX 512 /* above the default of requests_per_key_max */
#define CONNECTION_STALL_MS 2000

struct connection {
	struct watch watch;
	struct list item;
	struct agent *agent;
	struct buf in, out;
	int64_t took_at; /* when the peer last took some of `out`, or it began to be kept */

	struct process *process; /* asked for or attached */
	struct list viewer;      /* in process->viewers when attached */
	bool attached, read_only;
	bool ends_process;    /* kill the process when this connection breaks */
	bool corked;          /* what is sent is kept until connection_uncork */
	bool detached_start;  /* DONE follows STARTED */
	struct job *job;      /* what its next command is to be, or NULL */
	uint64_t awaited;     /* the process whose end it is to be told; 0 = none */
	uint64_t next[2];     /* first offsets not sent */
	uint64_t until[2];    /* detach there by itself */
	struct process *full; /* no more is read until its stdin has room */
	bool held;            /* a message waits until we are not attached any more */
	bool waiting;         /* connections_handle_waiting looks at `in` again */
	int64_t patience;     /* its EXEC waits for a warm interpreter until then; 0 = does not */

	int64_t room_until; /* its file message waits until then for a process; 0 = does not */

	pid_t worker; /* serves this connection; 0 = we do */
	struct worker_rest *rest;
	struct stops stops; /* of the worker, unless it is the standby process */
};

void connection_accept(struct agent *a, int fd);
void connection_close(struct connection *c);
void connection_free_closed(struct agent *a);

void connection_send(struct connection *c, uint16_t type, const struct wire_member *shape,
                     const void *message);
void connection_send_done(struct connection *c, uint64_t count);
/* The same with a descriptor, which stays the caller's. */
MUST_CHECK int connection_send_done_with_fd(struct connection *c, int fd, struct error *err);
void connection_send_failed(struct connection *c, const struct error *err);
/* Between these everything that is sent goes out in one piece. */
void connection_cork(struct connection *c);
void connection_uncork(struct connection *c);
/* Takes what frames are there, as far as it may. `bytes` are new ones. */
void connection_handle(struct connection *c, struct span bytes);

/* From the process: it has started; it could not be, or is no more; there is output or an end. */
void connection_on_started(struct connection *c);
void connection_on_lost(struct connection *c, const struct error *err);
void connection_attach(struct connection *c, struct process *p);
void connection_detach(struct connection *c);
void connection_flush(struct connection *c);
/* Its peer has taken nothing of what waits for it for CONNECTION_STALL_MS. */
bool connection_is_stalled(const struct connection *c);
/* The process' stdin has room again. */
void connections_resume(struct agent *a, struct process *p);
/* Those whose EXEC waits for a warm interpreter look again; before `now` only if there is one. */
void connections_look_for_warm(struct agent *a, int64_t now, bool there_is_one);
int64_t connections_next_patience(struct agent *a);
/* Of those whose file message waits for a process the one that has waited longest looks again, as
 * do those whose time is over, to fail. Sets when to call it next, in a->standby.look_at. */
void connections_look_for_room(struct agent *a, int64_t now);
/* To those who await its end: that it has come, or never will. */
void connections_tell_end(struct process *p);
void connections_tell_lost(struct process *p, const struct error *err);
/* Goes on with those whose wait ended during this round of events; never from within them, so that
 * no request runs in the middle of another's loop. */
void connections_handle_waiting(struct agent *a);

/* requests.c: one frame. 1 = taken, 0 = not now, -1 = the connection is beyond repair. */
MUST_CHECK int request_run(struct connection *c, uint16_t type, struct span payload,
                           struct error *err);
