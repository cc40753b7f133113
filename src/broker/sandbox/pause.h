/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/pause.h — pause and resume, by the kernel's freezer. */
#pragma once

#include "base/error.h"

struct pending_reply;
struct sandbox;
struct sandboxes;

/* BROKER_PAUSE; the reply comes later unless the call fails. Succeeds when it is paused already. */
MUST_CHECK int sandboxes_pause(struct sandboxes *b, const struct pending_reply *reply,
                               const char *id, struct error *err);
/* BROKER_RESUME. Succeeds when it is not paused. */
MUST_CHECK int sandboxes_resume(struct sandboxes *b, const struct pending_reply *reply,
                                const char *id, struct error *err);
/* Thaws a sandbox that is about to end, because frozen processes can neither answer nor die. A
 * pause under way fails. */
void sandbox_thaw(struct sandbox *sandbox);
/* Finds out whether an adopted sandbox is paused. */
void sandbox_find_paused(struct sandbox *sandbox);
