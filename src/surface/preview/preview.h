/* SPDX-License-Identifier: Apache-2.0 */
/* surface/preview/preview.h — what the files of previews share. Private to this folder.
 *
 * A server inside a sandbox is seen in three ways: below …/instances/:id/preview/:port/ by a key,
 * below /api/sandbox/preview/TOKEN/ by a grant (fleet/preview.h), and at PORT-ID.DOMAIN by either.
 * What comes out of it is a stranger's: it is never to be taken for the platform's, and never gets
 * what the platform's own clients send along. */
#pragma once

#include "edge/api.h"
#include "edge/caller.h"
#include "fleet/preview.h"
#include "http/proxy.h"

#define PREVIEW_BASE "/api/sandbox/preview/"
#define PREVIEW_MARK "atoll_" /* with it begin the names of all of our cookies */
#define PREVIEW_COOKIE PREVIEW_MARK "preview"

/* serve.c: what of which sandbox somebody wants to see. */
struct preview_view {
	const char *project_id; /* NULL: a grant names the sandbox */
	const char *id_or_name;
	uint16_t port;
	const struct fleet_grant *grant; /* NULL: a key */
	const struct fleet_use *use;
	struct span prefix, rest; /* of the raw path; the rest begins with '/' */
	struct span query;
	bool is_boxed;
	/* Neither a key nor a grant: fleet/access.h says who may, and not what previews show. */
	bool is_traffic;
	struct span traffic_token;
	bool is_trusted; /* has the sandbox's own token: that is all */
};
MUST_CHECK int preview_serve(struct request *rq, struct reply *reply,
                             const struct preview_view *view, struct error *err);
/* A port of a sandbox, for api->refuse_port. */
struct preview_port {
	const char *id; /* of the sandbox, or its name */
	uint16_t port;
};
/* An error of what leads to a preview, for people or programs; always 0. */
int preview_refuse(struct request *rq, struct reply *reply, const struct error *err);

/* live.c: streams that run, on the loop's thread. */
struct preview_live;
struct preview_stream {
	struct list item;
	struct preview_sandbox *place; /* NULL: not begun */
	struct relay *relay;
	char id[ID_SIZE + 1];
	bool is_granted;
};
struct preview_live *preview_live_new(void);
void preview_live_free(struct preview_live *live); /* NULL is fine */
/* False when the sandbox has too many. */
bool preview_live_add(struct preview_live *live, struct preview_stream *s);
void preview_live_remove(struct preview_live *live, struct preview_stream *s);
/* Any thread: ends, soon, all of a sandbox, or those by grants. */
void preview_live_cut(struct api *api, const char *id, bool granted_only);

/* page.c: an error for people; `retries`: the page asks again by itself. */
void preview_write_page(struct buf *out, const struct error *err, bool retries);
/* Whether asking again may help. */
bool preview_may_retry(const struct error *err);

/* share.c */
MUST_CHECK int preview_grant_find(struct request *rq, struct span token, struct fleet_grant *ret,
                                  struct error *err);

/* hosts.c */
/* Whether it is one of ours, but for "api" and "sandbox", which are the server itself. */
bool preview_host_is_place(const struct config *config, struct span host);
/* "5173-ID" of the request's Host, and the port. */
MUST_CHECK int preview_host_parse(const struct config *config, struct span host, char ret_id[],
                                  uint16_t *ret_port, struct error *err);
extern const struct route preview_host_route;
