/* SPDX-License-Identifier: Apache-2.0 */
/* edge/cookie.h — the cookie of a login (sign_in/sign_in.h), and the checks that keep other pages
 * from using it.
 *
 * A browser sends the cookie with every request to this host, whichever page caused it. So a write
 * needs the login's CSRF text and an origin that is this server's own; a WebSocket needs the
 * origin; a read must not be caused by another site's page. Requests that a sandbox's server
 * answers (routes of HTTP_ANY) never get a caller from the cookie. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"

struct api_caller;
struct key_record;
struct reply;
struct request;
struct route;
struct sign_in_token;

/* Over TLS the cookie has the prefix "__Host-", which a sibling host cannot set. */
#define API_COOKIE "atoll_session"
#define API_CSRF_HEADER "X-Atoll-CSRF"

/* *ret_found is false without a cookie. ERROR_UNAUTHENTICATED with several: another page may have
 * set one of them. */
MUST_CHECK int api_cookie_read(const struct request *rq, struct sign_in_token *ret, bool *ret_found,
                               struct error *err);
/* The value of the cookie with this name, of which TLS has its own; size 0 without one, or with
 * several. For short-lived cookies of a sign-in. */
struct span api_cookie_value(const struct request *rq, const char *name);
/* `lifetime_ms` 0 removes it. */
void api_cookie_put(struct request *rq, struct reply *reply, const char *name, const char *value,
                    int64_t lifetime_ms);
/* Refuses what another page may have caused. */
MUST_CHECK int api_cookie_guard(const struct request *rq, const struct route *route,
                                const struct sign_in_token *token, struct error *err);
/* For a request that sets the cookie: refuses a browser's request from another page. */
MUST_CHECK int api_cookie_guard_sign_in(const struct request *rq, struct error *err);
/* `token` NULL: removes the cookie. */
void api_cookie_write(struct request *rq, struct reply *reply, const struct sign_in_token *token,
                      int64_t lifetime_ms);

/* The address of the client, without port: behind a proxy on this machine what the proxy reports.
 * "" when it is not known. */
const char *api_client_address(struct request *rq);

/* login.c: the caller whose login has this hash, as the key that it stands for: `id` is the user's
 * or the key's. `wanted`: the project; NULL = the first. */
MUST_CHECK int api_find_login(struct request *rq, const unsigned char hash[ACCOUNT_HASH_SIZE],
                              const char *wanted, struct key_record *ret, struct error *err);
/* The project that the request names, by header or by "project" in the query; NULL: none. */
const char *api_find_project(struct request *rq);
/* Takes "project" out of the query when the route does not know it. Call it once the request is
 * admitted: an authorization may be repeated. */
void api_drop_project(struct request *rq, const struct route *route);
