/* SPDX-License-Identifier: Apache-2.0 */
/* Any other port of a sandbox: a server inside, as in previews. This file serves requests with the
 * headers; preview/share.c serves requests by host. Both apply the same rules. */
#include <errno.h>

#include "json/write.h"
#include "surface/envd/envd.h"
#include "surface/preview/serve.h"

#define BODY_MAX_BYTES ((size_t)1 << 40)

static void write_refusal(struct reply *reply, const struct preview_port *at, int status,
                          const char *message)
{
	struct buf *out = reply_buf(reply, "application/json");

	reply_status(reply, status);
	reply_header(reply, "Cache-Control", "no-store");
	json_begin_object(out, NULL);
	json_add_text(out, "sandboxId", at->id);
	json_add_text(out, "message", message);
	json_add_whole(out, "port", at->port);
	json_add_whole(out, "code", status);
	json_end_object(out);
}

bool envd_port_refuse(struct reply *reply, const struct preview_port *at, const struct error *err)
{
	if (err->sys_errno == ECONNREFUSED)
		write_refusal(reply, at, 502, "The sandbox is running but port is not open");
	else if (err->code == ERROR_NOT_FOUND || err->code == ERROR_CONFLICT)
		envd_reply_gone(reply, at->id);
	else if (err->code == ERROR_FORBIDDEN)
		write_refusal(reply, at, 403, err->text);
	else
		return false;
	return true;
}

static int serve_port(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	struct preview_view view = {.rest = rq->raw_path, .query = rq->raw_query};
	struct envd_address address;
	int found;

	found = envd_address_require(rq, reply, &address, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	if (request_header(rq, "X-Access-Token")) {
		if (envd_token_check(rq, address.id, err) < 0)
			return -1;
		view.is_trusted = true;
	}
	view.is_traffic = !view.is_trusted;
	view.traffic_token = span_of(request_header(rq, "E2b-Traffic-Access-Token"));
	view.id_or_name = arena_text(rq->arena, address.id);
	view.port = address.port;
	return preview_serve(rq, reply, &view, err);
}

const struct route envd_port_route = {
        .method = HTTP_ANY,
        .path = "/*path",
        .flags = ROUTE_PUBLIC | ROUTE_STREAM_BODY | ROUTE_RAW_BODY | ROUTE_HIDDEN | ROUTE_TRY |
                 ROUTE_QUICK,
        .body_max = BODY_MAX_BYTES,
        .handle = serve_port,
        .tag = ENVD_TAG,
        .summary = "A server inside a sandbox",
};
