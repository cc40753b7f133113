/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/preview/live.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "edge/api.h"
#include "http/proxy/proxy.h"
#include "http/server/relay.h"
#include "loop/loop.h"
#include "surface/preview/routes.h"
#include "surface/preview/surface.h"

#define STREAMS_MAX 1024 /* streams of one sandbox at once */

struct preview_sandbox {
	char id[ID_SIZE + 1];
	struct list streams;
	unsigned count; /* number of streams, and of functions that iterate over them */
};

struct preview_live {
	struct map sandboxes; /* id -> struct preview_sandbox, each with a count above 0 */
};

static struct preview_live *preview_live_new(void)
{
	struct preview_live *live = memory_new(sizeof(*live));

	return live;
}

static void preview_live_free(struct preview_live *live)
{
	if (!live)
		return;
	map_done(&live->sandboxes);
	free(live);
}

static struct preview_sandbox *get_live_sandbox(struct preview_live *live, const char *id)
{
	struct preview_sandbox *sandbox = map_find(&live->sandboxes, id);

	if (sandbox)
		return sandbox;
	sandbox = memory_new(sizeof(*sandbox));
	memcpy(sandbox->id, id, strlen(id) + 1);
	list_init(&sandbox->streams);
	map_put(&live->sandboxes, sandbox->id, sandbox);
	return sandbox;
}

static void release_live_sandbox(struct preview_live *live, struct preview_sandbox *sandbox)
{
	assert(sandbox->count > 0);
	if (--sandbox->count)
		return;
	map_remove(&live->sandboxes, sandbox->id);
	free(sandbox);
}

bool preview_live_add(struct preview_live *live, struct preview_stream *s)
{
	struct preview_sandbox *sandbox = get_live_sandbox(live, s->id);

	assert(!s->sandbox);
	if (sandbox->count >= STREAMS_MAX)
		return false;
	sandbox->count++;
	s->sandbox = sandbox;
	list_init(&s->item);
	list_append(&sandbox->streams, &s->item);
	return true;
}

void preview_live_remove(struct preview_live *live, struct preview_stream *s)
{
	struct preview_sandbox *sandbox = TAKE(s->sandbox);

	if (!sandbox)
		return;
	list_remove(&s->item);
	release_live_sandbox(live, sandbox);
}

struct preview_cut {
	struct loop_task task;
	struct preview_live *live;
	char id[ID_SIZE + 1];
	bool granted_only;
};

static void cut_streams(struct loop_task *task)
{
	struct preview_cut *cut = CONTAINER_OF(task, struct preview_cut, task);
	struct preview_sandbox *sandbox = map_find(&cut->live->sandboxes, cut->id);
	struct error err;

	error_set(&err, ERROR_FORBIDDEN, 0, HERE, "access to this preview was revoked");
	if (sandbox) {
		/* The count keeps the entry while its streams are removed. */
		sandbox->count++;
		LIST_EACH (&sandbox->streams, struct preview_stream, s, item)
			if (s->is_granted || !cut->granted_only)
				relay_fail(s->relay, &err);
		release_live_sandbox(cut->live, sandbox);
	}
	free(cut);
}

void preview_live_cut(struct api *api, const char *id, bool granted_only)
{
	struct preview_cut *cut = memory_new(sizeof(*cut));

	*cut = (struct preview_cut){.task = {.run = cut_streams},
	                            .live = api->preview->live,
	                            .granted_only = granted_only};
	memcpy(cut->id, id, strlen(id) + 1);
	loop_post(api->loop, &cut->task);
}

void preview_state_open(struct api *api)
{
	api->preview = memory_new(sizeof(*api->preview));
	api->preview->pool = proxy_pool_new(api->loop);
	api->preview->live = preview_live_new();
	api->preview->opened = preview_opened_new();
}

void preview_state_close(struct api *api)
{
	if (!api->preview)
		return;
	proxy_pool_free(api->preview->pool);
	preview_live_free(api->preview->live);
	preview_opened_free(api->preview->opened);
	free(api->preview);
	api->preview = NULL;
}
