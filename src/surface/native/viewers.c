/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/viewers.h"

#include <stdio.h>
#include <stdlib.h>

#include "calls/figures.h"
#include "config/config.h"
#include "edge/api.h"
#include "http/server/relay.h"
#include "json/write.h"
#include "loop/loop.h"
#include "surface/native/native.h"
#include "surface/native/window_events.h"
#include "terminal/recording.h"
#include "terminal/terminal.h"

struct announcement {
	struct loop_task task;
	struct api *api;
	enum viewer_event_kind kind;
	char sandbox[ID_SIZE + 1], who[TERMINAL_WHO_MAX + 1];
	uint64_t process, viewer;
	struct buf text;
};

static void write_to_viewer(struct terminal_viewer *v, void *context)
{
	const struct announcement *a = context;
	struct connected_viewer *to = CONTAINER_OF(v, struct connected_viewer, viewer);

	if (v->id != a->viewer)
		relay_write_text_message(to->relay, buf_span(&a->text));
}

static void deliver_announcement(struct loop_task *task)
{
	static const char *const types[] = {
	        [VIEWER_TYPING] = "typing",
	        [VIEWER_TAKEN_OVER] = "taken_over",
	};
	struct announcement *a = CONTAINER_OF(task, struct announcement, task);

	a->text = BUF(1024);
	json_begin_object(&a->text, NULL);
	json_add_text(&a->text, "type", types[a->kind]);
	if (a->viewer)
		json_add_whole(&a->text, "viewer", (int64_t)a->viewer);
	else
		json_add_null(&a->text, "viewer");
	json_add_text(&a->text, "who", a->who);
	json_end_object(&a->text);
	terminal_viewers_each(a->api->terminals, a->sandbox, a->process, write_to_viewer, a);
	buf_done(&a->text);
	free(a);
}

void viewers_announce(struct api *api, const struct viewer_event *event)
{
	struct announcement *a;

	if (!api->loop)
		return;
	a = memory_new(sizeof(*a));
	a->task.run = deliver_announcement;
	a->api = api;
	a->kind = event->kind;
	a->process = event->process;
	a->viewer = event->viewer;
	(void)snprintf(a->sandbox, sizeof(a->sandbox), "%s", event->sandbox);
	(void)snprintf(a->who, sizeof(a->who), "%s", event->who);
	loop_post(api->loop, &a->task);
}

static void on_typed(void *context, const char *sandbox, uint64_t process, const char *who)
{
	viewers_announce(context, &(struct viewer_event){VIEWER_TYPING, sandbox, process, 0, who});
}

void native_state_open(struct api *api)
{
	AUTO(arena_done) struct arena arena = {0};

	api->terminals = terminals_new(&(struct terminals_options){
	        .blobs = api->blobs,
	        .spool = arena_format(&arena, "%s/recordings", api->config->data_dir),
	        /* Calls that wait on a terminal occupy the threads of ROUTE_LONG. */
	        .waits_max = (unsigned)api->config->tool_calls_max,
	        .on_typed = on_typed,
	        .on_change = window_event_add,
	        .context = api,
	});
	terminals_recover(api->terminals);
	api->figures = figures_feed_new(api);
}

void native_state_stop(struct api *api)
{
	if (api->terminals)
		terminals_stop(api->terminals);
}

void native_state_close(struct api *api)
{
	terminals_free(api->terminals);
	figures_feed_free(api->figures);
}
