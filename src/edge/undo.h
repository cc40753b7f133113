/* SPDX-License-Identifier: Apache-2.0 */
/* edge/undo.h — deletes a new sandbox whose client has left. */
#pragma once

struct reply;
struct request;

/* Deletes the sandbox when the client leaves before the reply has reached its connection: no other
 * client knows the sandbox. Not for requests with an Idempotency-Key: a repetition asks for the
 * sandbox. See
 * docs/decisions/clients-that-leave.md. */
void api_undo_create(struct request *rq, struct reply *reply, const char *sandbox_id);
