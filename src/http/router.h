/* SPDX-License-Identifier: Apache-2.0 */
/* http/router.h — the route tables as a tree by path part. Built once, then only read.
 *
 * At each part a literal goes before a parameter, a parameter before a rest; where the better match
 * lacks the method, the next one is tried. Two rows that say the same abort at start. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "http/http.h"
#include "http/target.h"

struct router_match {
	const struct route *route; /* NULL when nothing fits */
	unsigned methods;          /* bit per method that this path takes */
};
struct router_match router_find(const struct router *router, enum http_method method,
                                const struct request_target *target);
/* The text of ":name" or "*name" of the route, copied when it must be; NULL when there is none. */
const char *router_param(const struct route *route, const struct request_target *target,
                         const char *name, struct arena *a);
/* "GET, HEAD, POST" */
void router_write_methods(struct buf *out, unsigned methods);
