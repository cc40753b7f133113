/* SPDX-License-Identifier: Apache-2.0 */
/* surface/preview/serve.h — proxying a request to a server inside a sandbox.
 *
 * There are three ways to a preview: below …/instances/:id/preview/:port/ with a key, below
 * /api/sandbox/preview/TOKEN/ with a grant (fleet/sandbox/preview.h), and at PORT-ID.DOMAIN with
 * either. A preview's content is not trusted: it must not act as the platform's own pages, and it
 * never receives the credentials that clients send to the platform. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/server/http.h"

struct api;
struct fleet_grant;
struct fleet_use;
struct reply;
struct request;
struct sandbox_record;

#define PREVIEW_BASE "/api/sandbox/preview/"
#define PREVIEW_MARK "atoll_" /* the names of the platform's cookies begin with it */
#define PREVIEW_COOKIE PREVIEW_MARK "preview"

/* Which port of which sandbox a request is for, and what gives access to it. */
struct preview_view {
	const char *project_id; /* NULL: a grant names the sandbox */
	const char *id_or_name;
	uint16_t port;
	const struct fleet_grant *grant; /* NULL: a key gives access */
	const struct fleet_use *use;
	struct span prefix; /* of the raw path: the part that the server inside does not see */
	struct span rest;   /* of the raw path; begins with '/' */
	struct span query;
	bool is_boxed;   /* sent with the CSP sandbox directive: it shares the platform's origin */
	bool is_traffic; /* neither key nor grant: fleet/core/access.h decides */
	struct span traffic_token;
	bool is_trusted; /* the caller has the sandbox's own token, which suffices */
};
MUST_CHECK int preview_serve(struct request *rq, struct reply *reply,
                             const struct preview_view *view, struct error *err);

/* A port of a sandbox that does not respond. */
struct preview_port {
	const char *id; /* id or name of the sandbox */
	uint16_t port;
};
/* Answers in the words of another surface; false: it has no words for this error. */
typedef bool preview_port_refuse(struct reply *reply, const struct preview_port *port,
                                 const struct error *err);
/* Sets how requests without a key are refused. Before the server starts. */
void preview_refusal_set(struct api *api, preview_port_refuse *refuse);
/* Answers with the error, as a page for a browser and as JSON for a program. Returns 0. */
int preview_refuse(struct request *rq, struct reply *reply, const struct error *err);
/* Returns the value of a name in the query, and the query without it. */
struct span preview_take_query(struct request *rq, const char *wanted, struct span *ret_rest);
/* Verifies the token of a link. */
MUST_CHECK int preview_grant_find(struct request *rq, struct span token, struct fleet_grant *ret,
                                  struct error *err);
/* Whether it is valid for the sandbox and its maker still has access. The request's stream ends
 * with that access. */
MUST_CHECK int preview_grant_check(struct request *rq, const struct fleet_grant *grant,
                                   const struct sandbox_record *r, struct error *err);

/* page.c: an error as an HTML page, which reloads itself every two seconds if it `retries`. */
void preview_write_page(struct buf *out, const struct error *err, bool retries);
/* Whether a repeated request may succeed. */
bool preview_may_retry(const struct error *err);
