/* SPDX-License-Identifier: Apache-2.0 */
/* surface/gateway/gateway.h — sessions and their workspaces.
 *
 * Paths of this surface are relative to the session's workspace and stay inside it: gateway_call
 * refuses texts that lead out, and the agent follows no symbolic link out of it. */
#pragma once

#include "http/server/http.h"

struct api_target;
struct files_call;
struct json_shape;

/* The first members of every body. */
struct gateway_body {
	const char *tenant_id, *session_id;
};
#define GATEWAY_ROWS(s)                                                                            \
	{.kind = JSON_TEXT,                                                                        \
	 .name = "tenant_id",                                                                      \
	 .offset = offsetof(struct s, session.tenant_id),                                          \
	 .min = 1,                                                                                 \
	 .max = 128,                                                                               \
	 .about = "default: \"default\"",                                                          \
	 .example = "default"},                                                                    \
	{                                                                                          \
		.kind = JSON_TEXT, .name = "session_id",                                           \
		.offset = offsetof(struct s, session.session_id), .flags = JSON_REQUIRED,          \
		.min = 1, .max = 128, .about = "the first call of a session creates its sandbox",  \
		.example = "s1"                                                                    \
	}

MUST_CHECK int gateway_open(struct request *rq, const struct gateway_body *b,
                            struct api_target *ret, struct error *err);
/* A call for a path inside the workspace; NULL: the workspace itself. */
MUST_CHECK int gateway_call(struct request *rq, const struct api_target *t, const char *path,
                            struct files_call *ret, struct error *err);
http_handler gateway_grep;
extern const struct json_shape gateway_grep_request, gateway_grep_answer;
