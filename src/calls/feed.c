/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/feed.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "edge/api.h"
#include "http/server/relay.h"
#include "json/write.h"
#include "loop/loop.h"
#include "store/events.h"
#include "worker/worker.h"

/* Another server on the same store cannot announce its events here: poll for them. */
#define LOOK_MS 1000
#define IDLE_MS 15000
/* Events that all streams get, and that one gets, by one read. */
#define LIVE_PAGE 1000
#define OWN_PAGE 200
/* Streams that read pages of their own at once. */
#define OWN_READS_MAX 4
/* Unsent bytes from which a client counts as slow. */
#define UNSENT_MAX ((size_t)128 * 1024)
#define TEXT_MAX ((size_t)4 * 1024 * 1024)

struct event_stream {
	struct list link; /* in feed->live or feed->behind */
	struct api_feed *feed;
	struct relay *relay; /* NULL once released */
	struct arena arena;  /* texts of the filter */
	struct feed_filter filter;
	enum output_form form;
	struct span first; /* in the arena */
	event_object_writer *write_object;
	void (*write)(void *context, struct buf *out, const void *row);
	void (*end)(void *context);
	void *context;
	int64_t after; /* events up to here were sent */
	bool asked;    /* `after` is the client's, and was not compared with the oldest event yet */
	bool is_behind; /* false: live */
	bool is_reading;
};

/* One page that a worker reads: for one stream, or for all live streams. */
struct feed_read {
	struct list link;
	struct worker_task task;
	struct loop_task done;
	struct api_feed *feed;
	struct event_stream *stream; /* NULL: for all live streams */
	struct feed_page page;
	struct arena arena;
	event_object_writer *write_object; /* NULL: no stream wants objects */
	struct feed_rows rows;
	struct span *objects;
	int64_t oldest, upto; /* upto: the page has all events up to here */
	bool is_last;         /* the page has the newest event */
	bool failed;
	struct error err;
};

/* Only the loop uses the members after the first two groups. */
struct api_feed {
	struct api *api;
	const struct feed_source *source;
	struct event_watcher watcher;

	atomic_bool has_streams, is_woken;
	struct loop_task woken;

	struct list live, behind, reads;
	size_t count;       /* of streams */
	size_t with_object; /* of those that want objects */
	event_object_writer *write_object;
	int64_t told;       /* live streams have the events up to here */
	unsigned own_count; /* reads for one stream */
	bool reads_live, reads_again;
	struct loop_timer timer;
	bool timer_runs;
};

static const void *get_row(const struct feed_read *r, size_t i)
{
	return (const char *)r->rows.items + i * r->feed->source->row_size;
}

static int64_t get_sequence(const struct feed_read *r, size_t i)
{
	return *(const int64_t *)get_row(r, i);
}

static void write_row(const struct event_stream *s, struct buf *out, const void *row,
                      struct span object)
{
	const struct feed_source *source = s->feed->source;

	if (s->form == OUTPUT_SSE)
		buf_addf(out, "id: %" PRId64 "\nevent: %s\ndata: ", *(const int64_t *)row,
		         source->name(row));
	source->write(out, row, object);
	buf_add_text(out, s->form == OUTPUT_SSE ? "\n\n" : "\n");
}

/* Tells the client that the events after `after` were purged. */
static void write_lost(struct buf *out, enum output_form form, int64_t after, int64_t oldest)
{
	if (form == OUTPUT_SSE)
		buf_add_text(out, "event: lost\ndata: ");
	json_begin_object(out, NULL);
	json_add_text(out, "event", "lost");
	json_add_whole(out, "after", after);
	json_add_whole(out, "oldest", oldest);
	json_end_object(out);
	buf_add_text(out, form == OUTPUT_SSE ? "\n\n" : "\n");
}

static int read_page(struct feed_read *r, struct error *err)
{
	const struct feed_source *source = r->feed->source;
	struct store *store = r->feed->api->store;
	struct event_bounds bounds;

	if (source->bounds(store, &bounds, err) < 0)
		return -1;
	r->page.before = bounds.newest + 1;
	if (source->list(store, &r->arena, &r->page, &r->rows, err) < 0)
		return -1;
	if (r->write_object && source->read_objects(r->feed->api, &r->arena, &r->rows,
	                                            r->write_object, &r->objects, err) < 0)
		return -1;
	r->oldest = bounds.oldest;
	r->is_last = (int64_t)r->rows.count < r->page.limit;
	r->upto = r->is_last ? bounds.newest : get_sequence(r, r->rows.count - 1);
	return 0;
}

static void read_on_worker(struct worker_task *task)
{
	struct feed_read *r = CONTAINER_OF(task, struct feed_read, task);

	r->failed = read_page(r, &r->err) < 0;
	loop_post(r->feed->api->loop, &r->done);
}

static void feed_read_free(struct feed_read *r)
{
	list_remove(&r->link);
	arena_done(&r->arena);
	free(r);
}

static void on_read(struct loop_task *task);

/* False when the workers' queue is full: the timer tries again. */
static bool read_begin(struct api_feed *feed, struct event_stream *s, const struct feed_page *page)
{
	struct feed_read *r = memory_new(sizeof(*r));
	struct error err = {0};

	r->feed = feed;
	r->stream = s;
	r->page = *page;
	if (s ? s->write_object != NULL : feed->with_object > 0)
		r->write_object = feed->write_object;
	r->task = (struct worker_task){.lane = WORKER_FAST, .run = read_on_worker};
	r->done.run = on_read;
	list_append(&feed->reads, &r->link);
	if (worker_submit(feed->api->workers, &r->task, &err) == 0)
		return true;
	feed_read_free(r);
	return false;
}

static void read_live(struct api_feed *feed)
{
	static const struct feed_filter all = {.project_id = NULL};
	const struct feed_page page = {.filter = &all, .after = feed->told, .limit = LIVE_PAGE};

	if (list_is_empty(&feed->live))
		return;
	if (feed->reads_live)
		feed->reads_again = true;
	else
		feed->reads_live = read_begin(feed, NULL, &page);
}

static void read_own(struct event_stream *s)
{
	const struct feed_page page = {.filter = &s->filter, .after = s->after, .limit = OWN_PAGE};

	s->is_reading = read_begin(s->feed, s, &page);
	if (s->is_reading)
		s->feed->own_count++;
}

/* Starts reads for streams that are behind, up to OWN_READS_MAX; not for slow clients. */
static void read_behind(struct api_feed *feed)
{
	LIST_EACH (&feed->behind, struct event_stream, s, link) {
		if (feed->own_count >= OWN_READS_MAX)
			break;
		if (!s->is_reading && relay_unsent(s->relay) < UNSENT_MAX)
			read_own(s);
	}
}

static void stream_free(struct event_stream *s)
{
	arena_done(&s->arena);
	free(s);
}

static void set_behind(struct event_stream *s)
{
	s->is_behind = true;
	list_remove(&s->link);
	list_append(&s->feed->behind, &s->link);
}

/* Makes the stream live if it has caught up. */
static void try_live(struct event_stream *s)
{
	struct api_feed *feed = s->feed;

	if (list_is_empty(&feed->live) && !feed->reads_live)
		feed->told = s->after;
	list_remove(&s->link);
	if (s->after < feed->told) {
		list_append(&feed->behind, &s->link);
		return;
	}
	s->is_behind = false;
	list_append(&feed->live, &s->link);
	/* Events may have come since the stream's last read. */
	read_live(feed);
}

static struct span object_of(const struct feed_read *r, size_t i)
{
	return r->objects ? r->objects[i] : (struct span){NULL, 0};
}

/* Sends the events after `known`. The relay may end, and with it the stream. */
static void send_events(struct event_stream *s, const struct feed_read *r, int64_t known)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_MAX);
	struct relay *relay = s->relay;

	if (s->asked && known > 0 && known + 1 < r->oldest)
		write_lost(&text, s->form, known, r->oldest);
	s->asked = false;
	for (size_t i = 0; i < r->rows.count; i++) {
		const void *row = get_row(r, i);

		if (get_sequence(r, i) <= known || !s->feed->source->is_wanted(&s->filter, row))
			continue;
		if (s->write)
			s->write(s->context, &text, row);
		else
			write_row(s, &text, row,
			          s->write_object ? object_of(r, i) : (struct span){NULL, 0});
	}
	if (text.size > 0)
		relay_write(relay, buf_span(&text));
}

/* Counts the page as sent. Returns the last event that was sent before. */
static int64_t mark_told(struct event_stream *s, const struct feed_read *r)
{
	int64_t known = s->after;

	if (r->upto > known)
		s->after = r->upto;
	return known;
}

static void on_own_read(struct api_feed *feed, struct feed_read *r)
{
	struct event_stream *s = r->stream;
	int64_t known;

	feed->own_count--;
	s->is_reading = false;
	if (!s->relay) {
		stream_free(s);
		return;
	}
	if (r->failed) {
		relay_fail(s->relay, &r->err);
		return;
	}
	known = mark_told(s, r);
	if (r->is_last)
		try_live(s);
	else
		set_behind(s);
	send_events(s, r, known);
}

static void on_live_read(struct api_feed *feed, struct feed_read *r)
{
	struct list todo;

	feed->reads_live = false;
	if (r->failed) {
		log_warning("events are not sent yet", FAILURE(&r->err));
		return;
	}
	if (r->upto > feed->told)
		feed->told = r->upto;
	/* Sending to one stream may end others. */
	list_init(&todo);
	while (!list_is_empty(&feed->live)) {
		struct list *item = feed->live.next;

		list_remove(item);
		list_append(&todo, item);
	}
	while (!list_is_empty(&todo)) {
		struct event_stream *s = LIST_ENTRY(todo.next, struct event_stream, link);

		list_remove(&s->link);
		list_append(&feed->live, &s->link);
		/* It became live after the read began: it reads the objects itself. */
		bool lacks_objects = s->write_object && !r->write_object && r->rows.count > 0;

		if (relay_unsent(s->relay) >= UNSENT_MAX || lacks_objects)
			set_behind(s);
		else
			send_events(s, r, mark_told(s, r));
	}
	if (feed->reads_again || !r->is_last) {
		feed->reads_again = false;
		read_live(feed);
	}
}

static void on_read(struct loop_task *task)
{
	struct feed_read *r = CONTAINER_OF(task, struct feed_read, done);
	struct api_feed *feed = r->feed;

	if (r->stream)
		on_own_read(feed, r);
	else
		on_live_read(feed, r);
	feed_read_free(r);
	read_behind(feed);
}

/* Any thread. */
static void on_events(void *context)
{
	struct api_feed *feed = context;

	if (atomic_load(&feed->has_streams) && !atomic_exchange(&feed->is_woken, true))
		loop_post(feed->api->loop, &feed->woken);
}

static void on_woken(struct loop_task *task)
{
	struct api_feed *feed = CONTAINER_OF(task, struct api_feed, woken);

	atomic_store(&feed->is_woken, false);
	read_live(feed);
}

static void on_timer(void *context)
{
	struct api_feed *feed = context;

	feed->timer_runs = feed->count > 0;
	if (!feed->timer_runs)
		return;
	loop_timer_start(feed->api->loop, &feed->timer, LOOK_MS);
	if (!feed->reads_live)
		read_live(feed);
	read_behind(feed);
}

static void on_start(void *state, struct relay *relay)
{
	struct event_stream *s = state;
	struct api_feed *feed = s->feed;

	s->relay = relay;
	set_behind(s);
	feed->count++;
	if (s->write_object) {
		feed->with_object++;
		feed->write_object = s->write_object;
	}
	atomic_store(&feed->has_streams, true);
	if (!feed->timer_runs) {
		feed->timer_runs = true;
		loop_timer_start(feed->api->loop, &feed->timer, LOOK_MS);
	}
	relay_begin_header(relay, "Cache-Control", "no-store");
	relay_begin(relay, 200, output_content_type(s->form), -1);
	if (s->form == OUTPUT_SSE)
		relay_write(relay, SPAN("retry: 1000\n\n"));
	if (s->first.size > 0)
		relay_write(relay, s->first);
	read_behind(feed);
}

static void on_tick(void *state, struct relay *relay)
{
	const struct event_stream *s = state;

	if (s->form == OUTPUT_SSE && relay_unsent(relay) == 0)
		relay_write(relay, SPAN(": still here\n\n"));
}

static void release_stream(void *state, UNUSED int upstream_fd, UNUSED bool clean)
{
	struct event_stream *s = state;
	struct api_feed *feed = s->feed;

	if (s->relay) {
		list_remove(&s->link);
		feed->count--;
		feed->with_object -= s->write_object != NULL;
		atomic_store(&feed->has_streams, feed->count > 0);
	}
	s->relay = NULL;
	if (s->end)
		s->end(s->context);
	if (!s->is_reading)
		stream_free(s);
}

static const struct relay_ops event_relay = {
        .on_start = on_start, .on_tick = on_tick, .release = release_stream};

static const char *copy_text(struct arena *a, const char *text)
{
	return text ? arena_text(a, text) : NULL;
}

void api_feed_reply(struct api_feed *feed, const struct feed_options *options, struct reply *reply)
{
	struct event_stream *s = memory_new(sizeof(*s));
	const struct feed_filter *f = &options->filter;

	list_init(&s->link);
	s->feed = feed;
	s->filter = (struct feed_filter){
	        .project_id = copy_text(&s->arena, f->project_id),
	        .sandbox_id = copy_text(&s->arena, f->sandbox_id),
	        .pattern = copy_text(&s->arena, f->pattern),
	        .user_id = copy_text(&s->arena, f->user_id),
	        .key_id = copy_text(&s->arena, f->key_id),
	        .conversation = copy_text(&s->arena, f->conversation),
	};
	s->form = options->form;
	s->first = (struct span){arena_copy(&s->arena, options->first), options->first.size};
	s->write_object = options->write_object;
	s->write = options->write;
	s->end = options->end;
	s->context = options->context;
	s->after = options->after;
	s->asked = true;
	reply_relay(reply, &(struct relay_options){
	                           .upstream_fd = -1,
	                           .ops = &event_relay,
	                           .state = s,
	                           .tick_ms = IDLE_MS,
	                           .is_standing = true,
	                   });
}

struct api_feed *api_feed_new(struct api *api, const struct feed_source *source)
{
	struct api_feed *feed = memory_new(sizeof(*feed));

	feed->api = api;
	feed->source = source;
	feed->watcher = (struct event_watcher){.on_events = on_events, .context = feed};
	feed->woken.run = on_woken;
	feed->timer = (struct loop_timer){.on_timer = on_timer, .context = feed};
	list_init(&feed->live);
	list_init(&feed->behind);
	list_init(&feed->reads);
	source->watch(api, &feed->watcher);
	return feed;
}

void api_feed_free(struct api_feed *feed)
{
	if (!feed)
		return;
	feed->source->unwatch(feed->api, &feed->watcher);
	if (feed->timer_runs)
		loop_timer_stop(feed->api->loop, &feed->timer);
	LIST_EACH (&feed->reads, struct feed_read, r, link) {
		if (r->stream)
			stream_free(r->stream);
		feed_read_free(r);
	}
	free(feed);
}
