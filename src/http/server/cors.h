/* SPDX-License-Identifier: Apache-2.0 */
/* http/server/cors.h — the server side of CORS (Fetch standard): which foreign pages may read
 * replies.
 *
 * server_options.allow_origin returns the value of Access-Control-Allow-Origin for a page's origin:
 * the origin, "*", or NULL when the page may not read the reply. Without allow_origin no foreign
 * page may. It is not called for requests that http_host.route or an HTTP_ANY route takes: their
 * upstream sets its own CORS headers.
 *
 * Browser credentials (cookies) are never allowed: a page sends its key itself. Loop thread, except
 * cors_write, which runs where a head is written. */
#pragma once

#include <stdbool.h>

struct buf;
struct http_exchange;

/* Sets ex->origin when the server allows the request's origin. */
void cors_begin(struct http_exchange *ex);
/* For a request without a route: returns true for a CORS preflight and adds the answer's headers.
 * The path does not matter: a preflight lacks the headers that select a route, and the request
 * itself is checked later. */
bool cors_answer_preflight(struct http_exchange *ex);
void cors_write(struct buf *out, const struct http_exchange *ex);
