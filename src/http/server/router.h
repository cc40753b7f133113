/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/router.h — the route tables as a tree by path part. Built once, then read-only.
 *
 * At each part a literal matches before a parameter, and a parameter before a rest; when the better
 * match lacks the method, the next match is tried. Duplicate rows abort at start. */
#pragma once

#include "http/message/request_target.h"
#include "http/server/host.h"
#include "http/server/http.h"

/* HTTP_ANY for a method that enum http_method does not name. */
enum http_method router_method_of(const char *name);

struct router_match {
	const struct route *route; /* NULL: no match */
	unsigned methods;          /* bit for each method of this path */
};
struct router_match router_find(const struct router *router, enum http_method method,
                                const struct request_target *target);
/* The path text for ":name" or "*name" of the route, copied if needed; NULL when the route has no
 * such parameter. */
const char *router_param(const struct route *route, const struct request_target *target,
                         const char *name, struct arena *a);
/* "GET, HEAD, POST" */
void router_write_methods(struct buf *out, unsigned methods);
