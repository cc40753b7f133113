/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/envd.h — the inside of a sandbox as E2B's SDKs know it: files over HTTP, processes
 * and folders over the Connect protocol. Private to this folder.
 *
 * A request is for a port of a sandbox when it has the headers E2b-Sandbox-Id and E2b-Sandbox-Port,
 * or comes to the host PORT-ID.DOMAIN. Port 49983 is these routes; any other but those of our own
 * is a server inside, see ports.c. Nobody has a key here: a sandbox's own token (fleet/access.h)
 * lets in, whoever has it, to that sandbox alone. */
#pragma once

#include "base/id.h"
#include "edge/api.h"
#include "edge/caller.h"
#include "json/json.h"
#include "surface/envd/routes.h"
#include "wire/agent_files.h"

#define ENVD_PORT 49983
#define INTERPRETER_PORT 49999 /* interpreter_routes.c */
/* Of every row: their reference is E2B's. */
#define ENVD_TAG "envd"
#define CONNECT_TAG "envd-connect"

/* ---- place.c: which sandbox, and which of its ports ---- */

struct envd_address {
	char id[ID_SIZE + 1];
	uint16_t port;
};
/* Of a request that was found to be for one. */
MUST_CHECK int envd_address_find(const struct request *rq, struct envd_address *ret,
                                 struct error *err);

/* ---- ports.c ---- */

/* For api->refuse_port: answers in the words of E2B's proxy; false: the proxy has none for this
 * error. */
struct agent_process;
struct preview_port;
bool envd_port_refuse(struct reply *reply, const struct preview_port *at, const struct error *err);

/* ---- target.c ---- */

/* The sandbox's own token, as the headers have it. */
MUST_CHECK int envd_token_check(struct request *rq, const char *id, struct error *err);
/* The sandbox that the request is for, held, if the token is right. 1 = answered already: there is
 * none that runs. */
MUST_CHECK int envd_target_open(struct request *rq, struct reply *reply, struct api_target *ret,
                                struct error *err);
/* The same for who has been let in. */
MUST_CHECK int envd_target_hold(struct request *rq, struct reply *reply, const char *id,
                                struct api_target *ret, struct error *err);
/* 502, as the SDKs know a sandbox that has gone. */
void envd_reply_gone(struct reply *reply, const char *id);
/* The user that is named by "Basic NAME:", or by `given`; else whom the sandbox has for that. */
MUST_CHECK int envd_user_find(struct request *rq, const struct api_target *t, const char *given,
                              const char **ret, struct error *err);
/* Where its commands begin; "" = at their user's home. */
const char *envd_workdir_of(const struct api_target *t);
/* An agent's failure in the words of envd: an unknown user is an unknown caller. */
void envd_error_translate(struct error *err);

/* ---- calls ---- */

/* A body of JSON in which unknown members are let pass. */
MUST_CHECK int envd_read_json(struct request *rq, const struct json_value **ret, struct error *err);

/* A path of that user's, and root's work. */
struct agent_path envd_path_of(const char *path, const char *user);

/* entry.c */
void envd_write_entry(struct buf *out, const struct agent_entry *entry);
#define ENVD_METADATA "user.e2b."

/* process.c: {"size":{"rows":24,"cols":80}} */
MUST_CHECK int envd_pty_size(const struct json_value *pty, uint32_t *ret_rows,
                             uint32_t *ret_columns, struct error *err);
/* selector.c: the process that {"pid":…} or {"tag":…} means. */
MUST_CHECK int envd_process_find(struct request *rq, const struct api_target *t,
                                 const struct json_value *selector, struct agent_process *ret,
                                 struct error *err);

/* ---- tables ---- */

extern const struct route envd_process_routes[], envd_stream_routes[], envd_input_routes[],
        envd_filesystem_routes[], envd_watch_routes[], envd_watcher_routes[], envd_compose_routes[],
        envd_file_routes[], envd_state_routes[], envd_interpreter_routes[];
extern const struct route envd_port_route, envd_mismatch_route;
