/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/host.h — separate routes for requests that are addressed to another host name. Part
 * of http/server/http.h. */
#pragma once

#include <stdbool.h>

struct route;

/* Built once, then read-only. */
struct router;
struct router *router_new(const struct route *const *tables);
void router_free(struct router *router); /* NULL is fine */

/* The routing decision by Host or other headers. */
struct http_host {
	bool is_refused;             /* refused: a foreign page may have sent the browser here */
	bool is_elsewhere;           /* another server handles the request */
	const struct route *route;   /* takes all these requests; NULL: the routes decide */
	const struct router *router; /* used instead of the server's routes; or NULL */
	const char *below;           /* only paths below this path; NULL: all */
};
