/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/daytona/daytona.h"

#include <sodium.h>
#include <stdlib.h>

#include "edge/caller.h"
#include "edge/target.h"
#include "json/write.h"
#include "surface/daytona/lsp_queue.h"
#include "surface/daytona/pending.h"
#include "surface/daytona/routes.h"
#include "surface/daytona/surface.h"

const char *daytona_origin(const struct request *rq)
{
	const char *host = request_header(rq, "Host");

	return arena_format(rq->arena, "%s://%s", api_is_https(rq) ? "https" : "http",
	                    host ? host : "localhost");
}

void daytona_failure_set_name(struct request *rq, const char *name)
{
	((struct api_caller *)rq->caller)->failure = name;
}

int daytona_target_open(struct request *rq, struct api_target *ret, struct error *err)
{
	if (api_target_open(rq, ret, err) == 0)
		return 0;
	/* If a worker runs the request again, it may fail in another way. */
	if (!request_is_deferred(rq))
		daytona_failure_set_name(rq, "");
	return -1;
}

int daytona_fail_unsupported(const char *feature, struct error *err)
{
	return FAIL(err, ERROR_UNSUPPORTED, "this server has no %s", feature);
}

int daytona_read_base64url(struct arena *a, struct span text, struct span *ret, struct error *err)
{
	char *bytes = arena_alloc(a, text.size + 1);
	size_t size;

	if (sodium_base642bin((unsigned char *)bytes, text.size, text.data, text.size, NULL, &size,
	                      NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
		return FAIL(err, ERROR_INVALID, "the text is not base64url without padding");
	*ret = (struct span){bytes, size};
	return 0;
}

int daytona_reply_member(struct reply *reply, const char *name, const char *text)
{
	struct buf *out = reply_buf(reply, "application/json");

	json_begin_object(out, NULL);
	json_add_text(out, name, text);
	json_end_object(out);
	return 0;
}

void daytona_state_open(struct api *api)
{
	api->daytona = memory_new(sizeof(*api->daytona));
	api->daytona->pending = daytona_pending_new();
	api->daytona->lsp_queue = daytona_lsp_queue_new();
}

void daytona_state_close(struct api *api)
{
	if (!api->daytona)
		return;
	daytona_pending_free(api->daytona->pending);
	daytona_lsp_queue_free(api->daytona->lsp_queue);
	free(api->daytona);
	api->daytona = NULL;
}
