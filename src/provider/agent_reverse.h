/* SPDX-License-Identifier: Apache-2.0 */
/* provider/agent_reverse.h — connections from agents that connect to their server
 * (wire/agent_reverse.h), for sandboxes that this host cannot enter: containers of another runtime,
 * virtual machines.
 *
 * Each sandbox has the folder DIR/ID with a socket, which its provider shows to the agent. The host
 * opens no path that a sandbox controls. One thread accepts; the functions may be called on any
 * other thread, but not in on_gone. A peer is bounded: it must say its token at once, and waits in
 * a small queue until it has. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct agent_reverse;

struct agent_reverse_options {
	const char *dir; /* exists; copied */
	/* The control connection of this agent broke. Runs on the thread of agent_reverse; must not
	 * block. */
	void (*on_gone)(void *context, const char *id);
	void *context;
};
MUST_CHECK int agent_reverse_open(const struct agent_reverse_options *options,
                                  struct agent_reverse **ret, struct error *err);
void agent_reverse_close(struct agent_reverse *r); /* sandboxes, folders and sockets stay */

/* Makes DIR/ID, which a container needs before its agent can have a token. */
MUST_CHECK int agent_reverse_make_folder(struct agent_reverse *r, const char *id,
                                         struct error *err);
/* Makes the socket in DIR/ID, and takes an agent with this token. Nothing happens when the sandbox
 * listens already. */
MUST_CHECK int agent_reverse_listen(struct agent_reverse *r, const char *id, const char *token,
                                    struct error *err);
/* Closes what the sandbox has here. DIR/ID stays: a container that is stopped has it mounted. */
void agent_reverse_forget(struct agent_reverse *r, const char *id);
void agent_reverse_remove_folder(struct agent_reverse *r, const char *id);
/* False: its agent is not expected, or not there yet. */
bool agent_reverse_is_connected(struct agent_reverse *r, const char *id);
bool agent_reverse_listens(struct agent_reverse *r, const char *id);
/* Waits until the agent's control connection is open. */
MUST_CHECK int agent_reverse_await(struct agent_reverse *r, const char *id, int64_t deadline,
                                   struct error *err);
/* A new connection, which blocks. The wait ends early with cancel_current (base/cancel.h).
 * ERROR_NOT_FOUND for a sandbox without agent_reverse_listen. */
MUST_CHECK int agent_reverse_connect(struct agent_reverse *r, const char *id, int64_t deadline,
                                     int *ret_fd, struct error *err);
