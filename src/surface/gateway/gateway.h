/* SPDX-License-Identifier: Apache-2.0 */
/* surface/gateway/gateway.h — what the files of this folder share. Private to it.
 *
 * Paths of this surface are relative to the session's workspace and may not leave it: neither by
 * their text (checked here) nor by a symbolic link (the agent opens them beneath the workspace). */
#pragma once

#include "calls/files.h"

/* The members that every body begins with. */
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
		.min = 1, .max = 128, .about = "its sandbox is made on first use", .example = "s1" \
	}

MUST_CHECK int gateway_open(struct request *rq, const struct gateway_body *b,
                            struct api_target *ret, struct error *err);
/* A call for a path inside the workspace; NULL is the workspace itself. */
MUST_CHECK int gateway_call(struct request *rq, const struct api_target *t, const char *path,
                            struct files_call *ret, struct error *err);
http_handler gateway_grep;
extern const struct json_shape gateway_grep_request, gateway_grep_answer;
