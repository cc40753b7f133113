/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/envd.h — the daemon inside a sandbox as E2B's SDKs know it: files over HTTP,
 * processes and folders over the Connect protocol.
 *
 * A request is for a port of a sandbox if it has the headers E2b-Sandbox-Id and E2b-Sandbox-Port,
 * or if its host is PORT-ID.DOMAIN. Port 49983 leads to these routes and port 49999 to the code
 * interpreter's. Any other port is a server inside the sandbox (ports.c).
 *
 * These requests carry no API key. The sandbox's own token (fleet/core/access.h) admits the
 * request, to that sandbox only. */
#pragma once

#include "base/id.h"
#include "http/server/http.h"
#include "json/json.h"

struct agent_entry;
struct api_target;

#define ENVD_PORT 49983
#define INTERPRETER_PORT 49999 /* interpreter_routes.c */
/* Each route row has one of these tags: E2B documents the calls. */
#define ENVD_TAG "envd"
#define CONNECT_TAG "envd-connect"

/* address.c: the sandbox and port that a request is for */

struct envd_address {
	char id[ID_SIZE + 1]; /* empty: the request names no valid id */
	uint16_t port;
};
/* For a request that envd_host_find has assigned to a port of a sandbox. */
MUST_CHECK int envd_address_find(const struct request *rq, struct envd_address *ret,
                                 struct error *err);
/* The same for a call that needs a valid id. Returns 1 if the reply is already written, because
 * the request has none. */
MUST_CHECK int envd_address_require(const struct request *rq, struct reply *reply,
                                    struct envd_address *ret, struct error *err);

/* ports.c */

/* For preview_refusal_set: answers in the words of E2B's proxy; false: the proxy has none for this
 * error. */
struct json_value;
struct reply;
struct agent_process;
struct preview_port;
bool envd_port_refuse(struct reply *reply, const struct preview_port *at, const struct error *err);

/* target.c */

/* Checks the sandbox's own token in the header X-Access-Token. */
MUST_CHECK int envd_token_check(struct request *rq, const char *id, struct error *err);
/* Checks the token and holds the sandbox of the request. Returns 1 if the reply is already
 * written, because the sandbox does not run or another server answers. */
MUST_CHECK int envd_target_open(struct request *rq, struct reply *reply, struct api_target *ret,
                                struct error *err);
/* The same without the check of the token, for a request that was authorized otherwise. */
MUST_CHECK int envd_target_hold(struct request *rq, struct reply *reply, const char *id,
                                struct api_target *ret, struct error *err);
/* Opens the sandbox of a request and runs a call that uses it. `run` is skipped if `open` returns
 * 1, because the reply is already written. */
struct envd_call {
	int (*open)(struct request *rq, struct reply *reply, struct api_target *ret,
	            struct error *err);
	int (*run)(struct request *rq, struct reply *reply, struct api_target *t, const void *body,
	           struct error *err);
	const void *body; /* for `run` */
};
MUST_CHECK int envd_call_run(struct request *rq, struct reply *reply, const struct envd_call *call,
                             struct error *err);
/* Answers 502, by which the SDKs recognize a sandbox that does not exist any more. */
void envd_reply_gone(struct reply *reply, const char *id);
/* The user to act as: `given` if not NULL, else the name of "Basic NAME:", else the sandbox's
 * default. */
MUST_CHECK int envd_user_find(struct request *rq, const struct api_target *t, const char *given,
                              const char **ret, struct error *err);
/* The folder in which commands start; "" = the user's home. */
const char *envd_workdir_of(const struct api_target *t);
/* Gives an agent's failure the code that envd has for it: an unknown user is "unauthenticated". */
void envd_error_translate(struct error *err);

/* Reads a JSON body; unknown members are ignored. */
MUST_CHECK int envd_read_json(struct request *rq, const struct json_value **ret, struct error *err);

/* A path of the agent's. A relative path starts at `user`'s home, and new files belong to `user`;
 * the agent itself works as root. */
struct agent_path envd_path_of(const char *path, const char *user);

/* {"code":404,"message":"…"} */
void envd_write_message(struct buf *out, int code, const char *message);
/* metadata.c: writes a NULL-terminated list of "name=value" as {"name":"value"}. */
void envd_write_pairs(struct buf *out, const char *name, const char *const *pairs);
/* entry.c: a file that was written; `attributes` as in files.h, or NULL */
void envd_write_upload(struct buf *out, const char *path, const char *attributes);
void envd_write_entry(struct buf *out, const struct agent_entry *entry);
#define ENVD_METADATA "user.e2b." /* prefix of the extended attributes that hold metadata */

/* process.c: reads {"size":{"rows":24,"cols":80}}. Clients without a terminal of their own give no
 * size, or 0 x 0: a new terminal gets 24 x 80 then, and an existing one keeps its size. */
MUST_CHECK int envd_pty_size(const struct json_value *pty, uint32_t *ret_rows,
                             uint32_t *ret_columns, struct error *err);
/* selector.c: finds the process that {"pid":…} or {"tag":…} selects. */
MUST_CHECK int envd_process_find(struct request *rq, const struct api_target *t,
                                 const struct json_value *selector, struct agent_process *ret,
                                 struct error *err);

extern const struct route envd_process_routes[], envd_stream_routes[], envd_input_routes[],
        envd_filesystem_routes[], envd_watch_routes[], envd_watcher_routes[], envd_compose_routes[],
        envd_file_routes[], envd_state_routes[], envd_interpreter_routes[];
extern const struct route envd_port_route, envd_mismatch_route;
