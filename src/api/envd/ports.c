/* SPDX-License-Identifier: Apache-2.0 */
/* Any other port of a sandbox, named by headers: a server inside, as previews show it. */
#include "api/envd/envd.h"
#include "api/preview/preview.h"
#include "fleet/access.h"

#define BODY_MAX_BYTES ((size_t)1 << 40)

static int serve(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct preview_view view = {.rest = rq->raw_path, .query = rq->raw_query};
	struct envd_place place;

	(void)body;
	if (envd_place_find(rq, &place, err) < 0)
		return -1;
	if (!place.id[0]) {
		envd_reply_gone(reply, request_header(rq, "E2b-Sandbox-Id"));
		return 0;
	}
	if (envd_check_token(rq, place.id, err) < 0)
		return -1;
	view.id_or_name = arena_text(rq->arena, place.id);
	view.port = place.port;
	return preview_serve(rq, reply, &view, err);
}

const struct route envd_port_route = {
        .method = HTTP_ANY,
        .path = "/*path",
        .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY | ROUTE_RAW_BODY | ROUTE_HIDDEN | ROUTE_TRY |
                 ROUTE_QUICK,
        .body_max = BODY_MAX_BYTES,
        .handle = serve,
        .tag = ENVD_TAG,
        .summary = "A server inside a sandbox",
};
