/* SPDX-License-Identifier: Apache-2.0 */
/* http/host.h — routes apart from the server's own, for requests that are somebody else's. Part of
 * http/http.h. */
#pragma once

#include <stdbool.h>

struct route;

/* Built once, then only read. */
struct router;
struct router *router_new(const struct route *const *tables);
void router_free(struct router *router); /* NULL is fine */

/* Whose a request is, by its Host or other headers. */
struct http_host {
	bool is_refused;             /* nobody's: a page elsewhere may have led the browser here */
	bool is_elsewhere;           /* passed on to another server than this one */
	const struct route *route;   /* it takes all of them; NULL: the routes do */
	const struct router *router; /* these routes, in place of the server's; or NULL */
	const char *below;           /* only what is below this path; NULL: everything */
};
