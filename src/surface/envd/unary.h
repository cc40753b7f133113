/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/unary.h — calls of the Connect protocol without streams. A file of calls has a table
 * of methods, and rows of routes that all lead to unary_handle. */
#pragma once

#include <stdbool.h>

#include "http/server/http.h"

struct api_target;
struct json_value;
struct reply;

struct unary_call {
	struct request *rq;
	struct reply *reply;
	struct api_target *target;
	const struct json_value *body;
	const char *user; /* for methods with `as_user` */
	struct buf *out;  /* the body of the reply */
};

struct unary_method {
	const char *path;
	int (*call)(struct unary_call *c, struct error *err);
	/* Finds the user to act as, and gives the agent's failures the codes that envd has. */
	bool as_user;
};
extern const struct unary_method filesystem_methods[], process_methods[], watcher_methods[];

/* Authorizes the request, reads its body and runs the method of its route. */
http_handler unary_handle;

#define UNARY_ROW(path_, flags_)                                                                   \
	{                                                                                          \
		.method = HTTP_POST, .path = (path_),                                              \
		.flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN | (flags_),                  \
		.body_max = (size_t)64 * 1024, .handle = unary_handle, .tag = CONNECT_TAG,         \
		.summary = (path_)                                                                 \
	}
