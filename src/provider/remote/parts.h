/* SPDX-License-Identifier: Apache-2.0 */
/* provider/remote/parts.h — the parts of remote.h. Private to provider/. */
#pragma once

#include "provider/entries.h"
#include "provider/remote/remote.h"

/* A program that is started in a sandbox and ends soon. */
struct remote_program {
	const char *script; /* of /bin/sh */
	const char *token;  /* value of AGENT_TOKEN_VARIABLE */
	int64_t deadline;
};

struct provider_place; /* provider/reports.h */

/* What a running sandbox uses. */
struct remote_usage {
	int64_t sampled_unix_ms;
	double cpu_used; /* processors in use */
	uint64_t memory_bytes, memory_limit_bytes, disk_bytes, disk_limit_bytes;
};

/* remote.c: the operations of every kind. `kind` fills name, abilities and the options. */
MUST_CHECK int remote_open(const struct remote_kind *kind, const struct provider_ops *ops,
                           const struct remote_options *own, const struct provider_options *options,
                           struct provider **ret, struct error *err);
void remote_close(struct provider *p);
int remote_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                  struct provider_created *ret, struct error *err);
int remote_destroy(struct provider *p, const char *id, int64_t deadline, struct error *err);
int remote_stop(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
                struct error *err);
int remote_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                 struct provider_created *ret, struct error *err);
int remote_pause(struct provider *p, const char *id, int64_t deadline, struct error *err);
int remote_resume(struct provider *p, const char *id, int64_t deadline, struct error *err);
int remote_filter(struct provider *p, const char *id, const char *egress, int64_t deadline,
                  struct error *err);
int remote_list_all(struct provider *p, struct arena *a, struct provider_list *ret,
                    struct error *err);
int remote_stats(struct provider *p, const char *id, struct provider_stats *ret, struct error *err);
int remote_health(struct provider *p, struct error *err);
/* Takes another credential. For kinds whose other options are fixed (config/provider_options.c). */
int remote_change(struct provider *p, const struct provider_options *options, struct error *err);
extern const struct compute_ops remote_compute;
/* For a caller that holds the sandbox (remote_record_hold). Finds it, by a list of the account if
 * need be. */
MUST_CHECK int remote_find_sandbox(struct remote *r, const char *id, int64_t deadline,
                                   struct remote_sandbox *ret, struct error *err);
/* Pauses it at the service, with or without its memory. */
MUST_CHECK int remote_rest_sandbox(struct remote *r, struct remote_sandbox *s, bool keeps_memory,
                                   int64_t deadline, struct error *err);
/* Makes it run; `spec` is NULL unless the sandbox starts. The service may give new tokens. */
MUST_CHECK int remote_wake_sandbox(struct remote *r, const struct sandbox_spec *spec,
                                   struct remote_sandbox *s, int64_t deadline, struct error *err);
/* The rows that the tables of all kinds share. */
#define REMOTE_PROVIDER_OPS                                                                        \
	.close = remote_close, .create = remote_create, .destroy = remote_destroy,                 \
	.stop = remote_stop, .start = remote_start, .pause = remote_pause,                         \
	.resume = remote_resume, .list = remote_list_all, .health = remote_health,                 \
	.compute = &remote_compute

/* agent.c: gives a running sandbox its agent, and waits until it listens. */
MUST_CHECK int remote_agent_load(struct remote *r, struct error *err);
MUST_CHECK int remote_agent_put(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                                struct error *err);
/* snapshots.c: for a sandbox that was made from a snapshot just now, before it gets its agent. */
MUST_CHECK int remote_copy_settle(struct remote *r, const struct remote_sandbox *s,
                                  int64_t deadline, struct error *err);
/* Ends the agent that a sandbox has from the snapshot it is made from: its token is another's. */
MUST_CHECK int remote_agent_end(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                                struct error *err);
/* Starts it, unless it runs. Uploads it first when it is missing. */
MUST_CHECK int remote_agent_start(struct remote *r, const struct remote_sandbox *s,
                                  int64_t deadline, struct error *err);
/* Of the agent with this name, made from the provider's key; AGENT_TOKEN_MAX + 1 bytes. */
void remote_agent_token(const struct remote *r, const char *name, char *ret);
/* The name that the token of a sandbox's agent is made from. */
const char *remote_agent_name(const struct remote *r, const struct remote_sandbox *s);

/* place.c: see provider/reports.h */
bool remote_place(struct provider *p, const char *id, struct provider_place *ret);
extern const struct report_ops remote_reports;

/* volumes.c: ERROR_UNSUPPORTED for mounts that the service does not know. */
MUST_CHECK int remote_mounts_check(const struct remote *r, const struct sandbox_spec *spec,
                                   struct error *err);

/* rules.c: ERROR_UNSUPPORTED for rules of the network that only a gateway of this server could
 * hold. */
MUST_CHECK int remote_rules_check(const struct remote *r, const char *egress, struct error *err);

/* call.c */
/* Fills *ret for an accepted status; buf_done(&ret->body) by the caller. All others become err:
 * code and text by the status and the service's message. */
MUST_CHECK int remote_call(struct remote *r, const struct remote_call *call,
                           struct http_async_answer *ret, struct error *err);
/* The same for a call whose body does not matter; the status, or -1. */
MUST_CHECK int remote_call_do(struct remote *r, const struct remote_call *call, struct error *err);
/* The same for a JSON body, which is copied into the arena. */
MUST_CHECK int remote_call_load(struct remote *r, const struct remote_call *call, struct arena *a,
                                const struct json_value **ret, struct error *err);
/* The header line that carries the credential of the moment; NULL: there is none. In the arena. */
const char *remote_credential_line(struct remote *r, struct arena *a);
void remote_calls_init(struct remote *r);
/* err by the status of an answer, as remote_call does. */
int remote_fail_status(struct remote *r, int status, struct span body, int64_t retry_after_s,
                       struct error *err);

/* records.c: the sandboxes that are known, by our id. */
/* ERROR_NOT_FOUND; ERROR_UNAVAILABLE while the account was never listed. */
MUST_CHECK int remote_record_find(struct remote *r, const char *id, struct remote_sandbox *ret,
                                  struct error *err);
bool remote_record_exists(struct remote *r, const char *id);
/* The same, also while a call makes it. */
bool remote_record_is_known(struct remote *r, const char *id);
void remote_record_put(struct remote *r, const struct remote_sandbox *s);
/* Returns whether there was one. */
bool remote_record_remove(struct remote *r, const char *id);
/* A holder changes the sandbox; lists leave it as it is, and another holder waits. */
MUST_CHECK int remote_record_hold(struct remote *r, const char *id, int64_t deadline,
                                  struct error *err);
void remote_record_release(struct remote *r, const char *id);
/* Takes over what a list says that began at `began_ms`: sandboxes that a call has changed since
 * then, or changes now, stay as they are. `each_gone` is called without a lock for each one that
 * the list lacks: a list may be behind, so that it stays until it is asked for. `each_ended` is
 * called without a lock for each one that ran and is stopped in the list. */
struct remote_changes {
	void (*each_gone)(struct remote *r, const char *id);
	void (*each_ended)(struct remote *r, const struct remote_sandbox *s);
};
void remote_records_refresh(struct remote *r, const struct remote_list *list, int64_t began_ms,
                            const struct remote_changes *changes);
/* Copies of those in the state. */
void remote_records_copy(struct remote *r, struct arena *a, enum remote_state state,
                         struct remote_list *ret);
void remote_record_note_usage(struct remote *r, const char *id, const struct remote_usage *u);
bool remote_record_usage(struct remote *r, const char *id, struct provider_stats *ret);
void remote_records_done(struct remote *r);

/* image.c: the service's image of a template's folder. ERROR_UNSUPPORTED for one without. */
MUST_CHECK int remote_image_of(const struct remote *r, struct arena *a, const char *folder,
                               const char **ret, struct error *err);

/* access.c: the files DATA/remote/NAME/access/ID. */
MUST_CHECK int remote_access_write(struct remote *r, const struct remote_sandbox *s,
                                   struct error *err);
/* Leaves it without such a file, and when the file is about another sandbox of the service. */
void remote_access_read(struct remote *r, struct remote_sandbox *s);
void remote_access_remove(struct remote *r, const char *id);

/* tunnel.c: a connection to the agent of a running sandbox. Returns at once: what is written waits
 * in the socket, and a failure comes as AGENT_FAILED. */
MUST_CHECK int remote_tunnel_open(struct remote *r, const struct remote_sandbox *s, int *ret_fd,
                                  struct error *err);
/* Ends those of the sandbox, or all when `id` is NULL. */
void remote_tunnels_end(struct remote *r, const char *id);

/* watch.c: a thread that lists the account, renews leases, and reports sandboxes that ended. */
MUST_CHECK int remote_watch_open(struct remote *r, struct error *err);
void remote_watch_close(struct remote *r);
/* Lists the account at once. Any thread. */
void remote_watch_wake(struct remote *r);
/* Fills in what only files of this server tell of the listed sandboxes. */
void remote_claims_read(struct remote *r, struct remote_list *list);
/* Lists the account, and takes over what it says. */
MUST_CHECK int remote_refresh(struct remote *r, struct arena *a, int64_t deadline,
                              struct remote_list *ret, struct error *err);
