/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of figures. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "calls/figures.h"
#include "edge/api.h"
#include "fleet/usage/figures.h"
#include "http/server/relay.h"
#include "json/write.h"
#include "loop/loop.h"
#include "worker/worker.h"

#define IDLE_MS 15000
/* Unsent bytes from which a client misses a round. */
#define UNSENT_MAX ((size_t)256 * 1024)
#define TEXT_MAX ((size_t)4 * 1024 * 1024)
#define PAGE_MAX 1000
#define IDS_MAX 2000

struct figures_stream {
	struct list link;
	struct figures_feed *feed;
	struct relay *relay;
	struct arena arena; /* texts of the options */
	struct figures_options options;
	int64_t due_at; /* monotonic ms */
};

/* The figures of one project in a round. */
struct figures_part {
	const char *project_id;
	const char **ids; /* that its streams name; NULL: all */
	size_t used;      /* of `ids` */
	struct figures_page *pages;
	bool failed;
};
struct figures_page {
	struct figures_page *next;
	struct fleet_figures figures;
	struct json_list items; /* of figure_shape */
};

/* A worker fills it; then the loop sends it. */
struct figures_round {
	struct worker_task task;
	struct loop_task done;
	struct figures_feed *feed;
	struct arena arena;
	struct figures_part *parts;
	size_t count;
	int64_t at; /* unix ms */
};

/* Of the loop. */
struct figures_feed {
	struct api *api;
	struct list streams;
	struct loop_timer timer;
	bool timer_runs;
	struct figures_round *round; /* NULL: none is under way */
};

static void round_free(struct figures_round *r)
{
	arena_done(&r->arena);
	free(r);
}

static void take_part(struct figures_round *r, struct figures_part *part)
{
	struct fleet_figures_query query = {.project_id = part->project_id,
	                                    .ids = (const char *const *)part->ids,
	                                    .limit = PAGE_MAX};
	struct figures_page **next = &part->pages, *page;
	struct error err = {0};

	do {
		page = ARENA_NEW(&r->arena, struct figures_page);
		if (fleet_figures(r->feed->api->fleet, &r->arena, &query, &page->figures, &err) <
		    0) {
			log_debug("no figures", TEXT("project", part->project_id), FAILURE(&err));
			part->failed = true;
			return;
		}
		page->items = make_figures_answer(&r->arena, &page->figures);
		*next = page;
		next = &page->next;
		query.page = page->figures.next_page;
	} while (query.page);
}

static void run_round(struct worker_task *task)
{
	struct figures_round *r = CONTAINER_OF(task, struct figures_round, task);

	r->at = clock_unix_ms();
	for (size_t i = 0; i < r->count; i++)
		take_part(r, &r->parts[i]);
	loop_post(r->feed->api->loop, &r->done);
}

static bool is_chosen(const char *const *ids, const struct fleet_figure *figure)
{
	if (!ids)
		return true;
	for (; *ids; ids++)
		if (strcmp(*ids, figure->id) == 0 || strcmp(*ids, figure->name) == 0)
			return true;
	return false;
}

static void write_figures(struct buf *out, const struct figures_stream *s,
                          const struct figures_page *page)
{
	const char *item = page->items.items;

	for (size_t i = 0; i < page->items.count; i++)
		if (is_chosen(s->options.ids, &page->figures.items[i]))
			json_add_struct(out, NULL, &figure_shape, item + i * figure_shape.size);
}

static void write_part(struct buf *out, const struct figures_stream *s,
                       const struct figures_round *r, const struct figures_part *part)
{
	if (s->options.form == OUTPUT_SSE)
		buf_add_text(out, "event: stats\ndata: ");
	json_begin_object(out, NULL);
	json_add_time(out, "at", r->at);
	json_begin_list(out, "items");
	for (const struct figures_page *page = part->pages; page; page = page->next)
		write_figures(out, s, page);
	json_end_list(out);
	json_end_object(out);
	buf_add_text(out, s->options.form == OUTPUT_SSE ? "\n\n" : "\n");
}

/* Sending may end the relay, and with it the stream. */
static void send_part(struct figures_stream *s, const struct figures_round *r)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_MAX);
	int64_t now = clock_monotonic_ms();

	if (now + FLEET_FIGURES_EVERY_MS / 2 < s->due_at || relay_unsent(s->relay) >= UNSENT_MAX)
		return;
	for (size_t i = 0; i < r->count; i++) {
		if (r->parts[i].failed ||
		    strcmp(r->parts[i].project_id, s->options.project_id) != 0)
			continue;
		write_part(&text, s, r, &r->parts[i]);
		s->due_at = now + s->options.interval_ms;
		if (!text.overflowed)
			relay_write(s->relay, buf_span(&text));
		return;
	}
}

static void send_round(struct figures_feed *feed, const struct figures_round *r)
{
	struct list todo;

	list_init(&todo);
	while (!list_is_empty(&feed->streams)) {
		struct list *item = feed->streams.next;

		list_remove(item);
		list_append(&todo, item);
	}
	while (!list_is_empty(&todo)) {
		struct figures_stream *s = LIST_ENTRY(todo.next, struct figures_stream, link);

		list_remove(&s->link);
		list_append(&feed->streams, &s->link);
		send_part(s, r);
	}
}

static void start_timer(struct figures_feed *feed, int64_t ms)
{
	feed->timer_runs = true;
	loop_timer_start(feed->api->loop, &feed->timer, ms);
}

static void on_round(struct loop_task *task)
{
	struct figures_round *r = CONTAINER_OF(task, struct figures_round, done);
	struct figures_feed *feed = r->feed;

	feed->round = NULL;
	send_round(feed, r);
	round_free(r);
	if (!list_is_empty(&feed->streams) && !feed->timer_runs)
		start_timer(feed, FLEET_FIGURES_EVERY_MS);
}

static struct figures_part *find_part(struct figures_round *r, const char *project_id)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->parts[i].project_id, project_id) == 0)
			return &r->parts[i];
	r->parts[r->count] = (struct figures_part){
	        .project_id = arena_text(&r->arena, project_id),
	        .ids = ARENA_ARRAY(&r->arena, const char *, IDS_MAX + 1),
	};
	return &r->parts[r->count++];
}

/* Adds the sandboxes that the stream names; too many names count as all. */
static void add_stream(struct figures_round *r, const struct figures_stream *s)
{
	struct figures_part *part = find_part(r, s->options.project_id);
	const char *const *ids = s->options.ids;

	while (ids && *ids && part->ids && part->used < IDS_MAX)
		part->ids[part->used++] = arena_text(&r->arena, *ids++);
	if (!ids || *ids)
		part->ids = NULL;
}

static struct figures_round *make_round(struct figures_feed *feed)
{
	struct figures_round *r = memory_new(sizeof(*r));
	size_t streams = list_count(&feed->streams);

	r->feed = feed;
	r->task = (struct worker_task){.lane = WORKER_SLOW, .run = run_round};
	r->done.run = on_round;
	r->parts = ARENA_ARRAY(&r->arena, struct figures_part, streams + 1);
	LIST_EACH (&feed->streams, struct figures_stream, s, link)
		add_stream(r, s);
	return r;
}

/* When the workers' queue is full, the next round tries again. */
static void begin_round(struct figures_feed *feed)
{
	struct error err = {0};

	if (feed->round || list_is_empty(&feed->streams))
		return;
	feed->round = make_round(feed);
	if (worker_submit(feed->api->workers, &feed->round->task, &err) == 0)
		return;
	round_free(TAKE(feed->round));
	start_timer(feed, FLEET_FIGURES_EVERY_MS);
}

static void on_figures_timer(void *context)
{
	struct figures_feed *feed = context;

	feed->timer_runs = false;
	begin_round(feed);
}

/* The first figures come at once, unless others have got theirs a moment ago. */
static void start_stream(void *state, struct relay *relay)
{
	struct figures_stream *s = state;
	struct figures_feed *feed = s->feed;
	struct error err = {0};

	s->relay = relay;
	if (list_count(&feed->streams) >= FIGURES_STREAMS_MAX) {
		(void)FAIL(&err, ERROR_LIMIT, "%d streams of figures are open already",
		           FIGURES_STREAMS_MAX);
		relay_fail(relay, &err);
		return;
	}
	list_append(&feed->streams, &s->link);
	relay_begin_header(relay, "Cache-Control", "no-store");
	relay_begin(relay, 200, output_content_type(s->options.form), -1);
	if (s->options.form == OUTPUT_SSE)
		relay_write(relay, SPAN("retry: 1000\n\n"));
	if (!feed->timer_runs)
		begin_round(feed);
}

static void tick_stream(void *state, struct relay *relay)
{
	const struct figures_stream *s = state;

	if (s->options.form == OUTPUT_SSE && relay_unsent(relay) == 0)
		relay_write(relay, SPAN(": still here\n\n"));
}

static void release_figures(void *state, UNUSED int upstream_fd, UNUSED bool clean)
{
	struct figures_stream *s = state;

	list_remove(&s->link);
	arena_done(&s->arena);
	free(s);
}

static const struct relay_ops figures_relay = {
        .on_start = start_stream, .on_tick = tick_stream, .release = release_figures};

static const char *const *copy_ids(struct arena *a, const char *const *ids)
{
	const char **copy;
	size_t count = 0;

	if (!ids)
		return NULL;
	while (ids[count])
		count++;
	copy = ARENA_ARRAY(a, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_text(a, ids[i]);
	return copy;
}

void figures_feed_reply(struct figures_feed *feed, const struct figures_options *options,
                        struct reply *reply)
{
	struct figures_stream *s = memory_new(sizeof(*s));

	list_init(&s->link);
	s->feed = feed;
	s->options = *options;
	s->options.project_id = arena_text(&s->arena, options->project_id);
	s->options.ids = copy_ids(&s->arena, options->ids);
	reply_relay(reply, &(struct relay_options){
	                           .upstream_fd = -1,
	                           .ops = &figures_relay,
	                           .state = s,
	                           .tick_ms = IDLE_MS,
	                           .is_standing = true,
	                   });
}

struct figures_feed *figures_feed_new(struct api *api)
{
	struct figures_feed *feed = memory_new(sizeof(*feed));

	feed->api = api;
	list_init(&feed->streams);
	feed->timer = (struct loop_timer){.on_timer = on_figures_timer, .context = feed};
	return feed;
}

void figures_feed_free(struct figures_feed *feed)
{
	if (!feed)
		return;
	if (feed->timer_runs)
		loop_timer_stop(feed->api->loop, &feed->timer);
	if (feed->round)
		round_free(feed->round);
	free(feed);
}
