/* SPDX-License-Identifier: Apache-2.0 */
/* edge/undo.h — sandboxes whose clients have left. Private to this folder. */
#pragma once

#include "http/parked.h"

/* Nobody but the client that this reply goes to is told of the sandbox: it is deleted when that
 * client leaves before the reply has reached its connection. Not for requests with an
 * Idempotency-Key, whose repetition asks for it. docs/decisions/clients-that-leave.md */
void api_undo_create(struct request *rq, struct reply *reply, const char *sandbox_id);
