/* SPDX-License-Identifier: Apache-2.0 */
/* agent/warm.h — an interpreter that has started before there is code for it, so that code pays
 * neither its start nor the imports.
 *
 *      agent ── reaper ── interpreter        imported what was wished for; forks, runs no code
 *        │                     │ forks, through one that ends at once
 *        ├───── reaper ── child <            the spare: waits on a socket for the code of one call
 *        │
 *        └───── reaper ── child              was the spare, is a process like any other
 *
 * Node.js can neither fork nor be given streams: it is started ahead, once for each call, with
 * pipes that the agent keeps for it, an order that is empty yet and the token. It says a byte when
 * its modules are there, runs the one call that it gets as any command does, and the next is
 * started when no command has just begun.
 *
 *      agent ── reaper of ours ── node     waits on a socket; with its call a process like any
 * other
 *
 * All of it belongs to the sandbox and to the user whose code it runs; none is shared between
 * sandboxes. It is trusted no more than a command: what it says is two bytes, and the kernel says
 * from whom (SCM_CREDENTIALS). The reaper must be a child of ours, the child one of its own, in a
 * session of its own, and both of the wished user, or nothing is given to them.
 *
 * A call is given away with its streams, its order (folder, variables, code: a memfd) and a token,
 * an eventfd that counts one. Who reads the token runs the code: the child does so just before; we
 * do when it takes too long, and execute the call as if there were no interpreter. So it runs once,
 * whatever happens to the child. A child that sees that a cold start would go another way (a module
 * of the same name in the current folder, a package that was installed since) ends without reading
 * it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/process.h"
#include "wire/agent.h"
#include "wire/agent_warm.h"

/* One interpreter for each language. The same wish as before changes nothing, but that one which
 * was given up begins again. */
MUST_CHECK int warm_set(struct agent *a, const struct agent_warm *wish, struct error *err);
/* A spare for this one has been asked for and comes before *patience is over (0 = not waited yet).
 */
bool warm_is_about_to(struct agent *a, const struct agent_exec *exec, int64_t *patience);
/* Gives the process, all but its reaper prepared, to the spare, if there is one that may run it. */
bool warm_take(struct process *p, const struct agent_exec *exec);
/* A child ended without having begun. */
void warm_on_declined(const struct process *p);
/* A command is about to start: what only gets ready for a later one stands still meanwhile. */
void warm_make_way(struct agent *a);
/* True when the pid was an interpreter's reaper or a spare's. */
bool warm_on_exit(struct agent *a, pid_t pid);
int64_t warm_next_deadline(struct agent *a);
void warm_run_timers(struct agent *a, int64_t now);
