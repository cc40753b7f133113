/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/rooms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "edge/tables.h"
#include "terminal/recording.h"

struct telling {
	struct loop_task task;
	struct api *api;
	enum room_event event;
	char sandbox[ID_SIZE + 1], who[TERMINAL_WHO_MAX + 1];
	uint64_t process, viewer;
	struct buf text;
};

static void tell_one(struct terminal_viewer *v, void *context)
{
	const struct telling *t = context;
	struct room_viewer *room = CONTAINER_OF(v, struct room_viewer, viewer);

	if (v->id != t->viewer)
		relay_write_text_message(room->relay, buf_span(&t->text));
}

static void run(struct loop_task *task)
{
	static const char *const names[] = {
	        [ROOM_TYPING] = "typing",
	        [ROOM_TAKEN_OVER] = "taken_over",
	};
	struct telling *t = CONTAINER_OF(task, struct telling, task);

	t->text = BUF(1024);
	buf_addf(&t->text, "{\"type\":\"%s\",\"viewer\":", names[t->event]);
	if (t->viewer)
		buf_addf(&t->text, "%" PRIu64, t->viewer);
	else
		buf_add_text(&t->text, "null");
	buf_add_text(&t->text, ",\"who\":");
	json_write_text(&t->text, span_of(t->who));
	buf_add_byte(&t->text, '}');
	terminal_viewers_each(t->api->terminals, t->sandbox, t->process, tell_one, t);
	buf_done(&t->text);
	free(t);
}

void room_tell(struct api *api, const struct room_news *news)
{
	struct telling *t;

	if (!api->loop)
		return;
	t = calloc(1, sizeof(*t));
	if (!t)
		abort();
	t->task.run = run;
	t->api = api;
	t->event = news->event;
	t->process = news->process;
	t->viewer = news->viewer;
	(void)snprintf(t->sandbox, sizeof(t->sandbox), "%s", news->sandbox);
	(void)snprintf(t->who, sizeof(t->who), "%s", news->who);
	loop_post(api->loop, &t->task);
}

static void on_typed(void *context, const char *sandbox, uint64_t process, const char *who)
{
	room_tell(context, &(struct room_news){ROOM_TYPING, sandbox, process, 0, who});
}

struct terminals *terminal_rooms_open(struct api *api)
{
	AUTO(arena_done) struct arena arena = {0};
	struct terminals *terminals;

	terminals = terminals_new(&(struct terminals_options){
	        .blobs = api->blobs,
	        .spool = arena_format(&arena, "%s/recordings", api->config->data_dir),
	        /* All that wait do so on the threads of ROUTE_LONG. */
	        .waits_max = (unsigned)api->config->tool_calls_max,
	        .on_typed = on_typed,
	        .context = api,
	});
	terminals_recover(terminals);
	return terminals;
}
