/* SPDX-License-Identifier: Apache-2.0 */
/* http/cors.h — what pages of other origins may read: the answering half of the Fetch standard's
 * CORS protocol. Private to this folder.
 *
 * server_options.allow_origin answers what Access-Control-Allow-Origin says to a page of that
 * origin: it, or "*", or NULL when the page may not read what is answered. A server without one
 * lets no page. It is not asked about requests that http_host.route or a row of HTTP_ANY takes:
 * those are somebody else's, who says so himself.
 *
 * Credentials of the browser's own (cookies) are never allowed: a page brings its key itself. Loop
 * thread, but for cors_write, which is wherever a head is written. */
#pragma once

#include "http/exchange.h"

/* Sets ex->origin, when its server allows that one. */
void cors_begin(struct http_exchange *ex);
/* For a request that no row takes: whether it asks what a page may send, and then the answer's
 * headers. Which path it is about does not matter: the headers that choose a route are not there
 * yet, and the request itself is answered for itself. */
bool cors_answer_preflight(struct http_exchange *ex);
void cors_write(struct buf *out, const struct http_exchange *ex);
