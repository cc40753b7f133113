/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/setup.h — the set-up of a sandbox: what a request adds to a prewarmed one. */
#pragma once

#include "base/error.h"

struct sandbox;

/* Sets the limits, opens the files and sends the plan to the agent; the agent's answer is next. */
MUST_CHECK int sandbox_send_plan(struct sandbox *sandbox, struct error *err);
/* Reads the agent's answer. 0: the sandbox is ready. */
MUST_CHECK int sandbox_take_answer(struct sandbox *sandbox, struct error *err);
/* Gives the files, the run folder and the state their final names. */
MUST_CHECK int sandbox_publish(struct sandbox *sandbox, struct error *err);
/* The part of that which a prepared sandbox does in advance: what the next broker must know. */
MUST_CHECK int sandbox_write_notes(struct sandbox *sandbox, struct error *err);

/* start.c: starts the sandbox of a create: by a claim, in a prewarmed one, or without isolation. */
MUST_CHECK int sandbox_start(struct sandbox *sandbox, struct error *err);
/* claim.c: turns a prepared sandbox into the one that a create asked for. */
MUST_CHECK int sandbox_claim(struct sandbox *sandbox, struct error *err);
/* host.c: BROKER_HOST, a process group without isolation, for development by one user. */
MUST_CHECK int sandbox_start_host(struct sandbox *sandbox, struct error *err);
