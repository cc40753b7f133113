/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/submit.h — hands exchanges to workers. They come back through server.finished, which
 * the loop reads. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct http_exchange;
struct http_server;

/* Submits to a worker: exchange_admit when ex->is_admission is set, exchange_undo when the reply
 * has an undo already, else exchange_handle. */
MUST_CHECK int server_submit(struct http_server *server, struct http_exchange *ex,
                             struct error *err);
/* The client has left: true when its call waited for an agent and was removed before a worker took
 * it. */
bool server_abandon(struct http_server *server, struct http_exchange *ex);
