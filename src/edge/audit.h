/* SPDX-License-Identifier: Apache-2.0 */
/* edge/audit.h — the audit of requests: a row for each write, each attached terminal and each use
 * of a link, and a log line for each administrative change.
 *
 * A write has a note from its admission on (audit/log/log.h); its row is in the spool before its
 * answer is sent. Handlers add what they change by api_audit_subject; the store's changes are
 * collected by api_on_handle. What is no write is in a table of audit.c. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct account_caller;
struct api_caller;
struct request;
struct route;

/* Whether the intent has to be on the disk before the handler runs: authorize on a worker. */
bool api_audit_is_durable(const struct request *rq, const struct route *route);
/* Knows the caller of a request that is refused before its admission. The texts are the request's.
 */
void api_audit_see(struct request *rq, const struct account_caller *caller);
/* Begins the note of a request that is admitted. `token_of`: the sandbox or volume whose token
 * authorized it, or NULL. */
MUST_CHECK int api_audit_begin(struct request *rq, const struct account_caller *caller,
                               const char *token_of, struct error *err);
/* The request is refused after all. */
void api_audit_refuse(struct request *rq, int status);
/* The reply is complete, or the client has left: 499. Loop thread. */
void api_audit_done(struct request *rq, int status);
/* Writes the log line; nothing for routes that are not administrative. Loop thread. */
void api_audit_log(const struct request *rq, const struct api_caller *caller, int status);
