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
#include "store/changes.h"

struct account_caller;
struct api_caller;
struct arena;
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
/* The row of a call that may outlive its request, as a call of MCP does: a message of MCP is no
 * write by itself. begin: in the handler, before the call has an effect. collect: on the call's
 * thread, around what it does. end: with the HTTP status that would tell the result; 0: another
 * server runs the call, and has its row. Nothing happens without an audit. */
struct audit_note;
struct api_audit_call {
	struct audit_note *note;
	struct store_changes changes;
};
struct api_audit_subject {
	const char *action, *kind, *id; /* action lives for ever */
};
MUST_CHECK int api_audit_call_begin(struct request *rq, const struct api_audit_subject *subject,
                                    struct api_audit_call *ret, struct error *err);
void api_audit_call_collect(struct api_audit_call *call, bool begins);
void api_audit_call_end(struct api_audit_call *call, struct arena *a, int status);
/* A row about the use of a link, which is valid; some for each target and minute. */
struct api_audit_use {
	const char *action, *target_kind; /* live for ever */
	const char *project_id, *target_id;
	struct span after_json; /* empty = none */
};
void api_audit_link(struct request *rq, const struct api_audit_use *use);
/* Begins the row of a public write, before it has an effect. */
MUST_CHECK int api_audit_open(struct request *rq, struct error *err);
/* Writes the log line; nothing for routes that are not administrative. Loop thread. */
void api_audit_log(const struct request *rq, const struct api_caller *caller, int status);
