/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "base/log.h"
#include "fleet/core/events.h"
#include "webhook/state.h"

#define PAGE 500
#define BODY_MAX 8192
/* The cursor is written only with deliveries, or after so many events without one. */
#define PASSED_MAX 10000

struct hook *hook_find(struct webhooks *w, const char *id)
{
	for (size_t i = 0; i < w->hook_count; i++)
		if (strcmp(w->hooks[i].record.id, id) == 0)
			return &w->hooks[i];
	return NULL;
}

int hooks_load(struct webhooks *w, struct error *err)
{
	struct arena arena = {0};
	struct webhook_list list;
	struct hook *hooks;
	bool has_enabled = false;

	if (store_webhook_list(w->store, &arena, NULL, &list, err) < 0) {
		arena_done(&arena);
		return -1;
	}
	hooks = ARENA_ARRAY(&arena, struct hook, list.count);
	for (size_t i = 0; i < list.count; i++) {
		const struct hook *old = hook_find(w, list.items[i].id);

		if (old)
			hooks[i] = *old;
		hooks[i].record = list.items[i];
		hooks[i].look_at = 0;
		has_enabled |= list.items[i].enabled;
	}
	arena_done(&w->arena);
	w->arena = arena;
	w->hooks = hooks;
	w->hook_count = list.count;
	w->is_loaded = true;
	atomic_store(&w->has_hooks, has_enabled);
	return 0;
}

static int disable_hook(struct webhooks *w, struct hook *hook, struct error *err)
{
	struct webhook_record *r = &hook->record;

	r->enabled = false;
	r->updated_at = clock_unix_ms();
	r->state_text = arena_format(&w->arena, "%d deliveries wait: enable it when it answers",
	                             WAITING_MAX);
	log_warning("webhook is disabled", TEXT("webhook", r->id), TEXT("why", r->state_text));
	return store_webhook_disable(w->store, r, err);
}

struct delivery_batch {
	struct arena arena;
	struct delivery_record *items;
	size_t count;
};

static void add_delivery(struct delivery_batch *b, const struct hook *hook,
                         const struct event_record *event)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct id id = id_new();
	int64_t now = clock_unix_ms();

	fleet_event_write(&body, event);
	b->items[b->count++] = (struct delivery_record){
	        .id = arena_text(&b->arena, id.text),
	        .webhook_id = hook->record.id,
	        .sequence = event->sequence,
	        .kind = event->kind,
	        .body = arena_copy(&b->arena, buf_span(&body)),
	        .created_at = now,
	        .next_at = now,
	};
}

static bool hook_wants_event(const struct hook *hook, const struct event_record *event)
{
	return hook->record.enabled && event->sequence > hook->record.after &&
	       strcmp(hook->record.project_id, event->project_id) == 0 &&
	       webhook_wants(hook->record.patterns, event->kind);
}

static int collect_deliveries(struct webhooks *w, struct delivery_batch *b,
                              const struct event_list *events, struct error *err)
{
	b->items = ARENA_ARRAY(&b->arena, struct delivery_record, events->count * w->hook_count);
	for (size_t i = 0; i < events->count; i++) {
		for (size_t h = 0; h < w->hook_count; h++) {
			struct hook *hook = &w->hooks[h];

			if (events->items[i].sequence <= w->seen ||
			    !hook_wants_event(hook, &events->items[i]))
				continue;
			if (hook->record.waiting >= WAITING_MAX) {
				if (disable_hook(w, hook, err) < 0)
					return -1;
				continue;
			}
			add_delivery(b, hook, &events->items[i]);
			hook->record.waiting++;
			hook->look_at = 0;
		}
	}
	return 0;
}

/* Loads the cursor and the webhooks after the events were read, so that every webhook that existed
 * when an event happened is loaded. */
static int refresh_hooks(struct webhooks *w, struct error *err)
{
	struct webhook_cursor cursor;

	if (store_webhook_cursor(w->store, &cursor, err) < 0)
		return -1;
	if ((!w->is_loaded || cursor.generation != w->cursor.generation) && hooks_load(w, err) < 0)
		return -1;
	w->cursor = cursor;
	/* Another server has dispatched these events. */
	if (w->seen < cursor.sequence)
		w->seen = cursor.sequence;
	return 0;
}

static int write_batch(struct webhooks *w, const struct delivery_batch *b, int64_t upto,
                       struct error *err)
{
	const struct webhook_dispatch d = {
	        .from = w->cursor, .to = upto, .items = b->items, .count = b->count};

	if (b->count == 0 && upto - w->cursor.sequence < PASSED_MAX)
		return 0;
	if (store_webhook_dispatch(w->store, &d, err) < 0)
		return -1;
	w->cursor.sequence = upto;
	fault_point("api", "webhook-dispatched");
	return 0;
}

/* One page; *ret_more when there may be another. */
static int dispatch_page(struct webhooks *w, bool *ret_more, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct delivery_batch batch = {.arena = {0}};
	struct event_page page = {.limit = PAGE};
	struct event_bounds bounds;
	struct event_list events = {0};
	int64_t upto;
	int result;

	*ret_more = false;
	if (store_event_bounds(w->store, &bounds, err) < 0)
		return -1;
	page.after = w->seen;
	page.before = bounds.newest + 1;
	if (w->seen < bounds.newest && store_event_list(w->store, &arena, &page, &events, err) < 0)
		return -1;
	if (refresh_hooks(w, err) < 0)
		return -1;
	if (events.count == 0)
		return 0;
	*ret_more = events.count == PAGE;
	upto = *ret_more ? events.items[events.count - 1].sequence : bounds.newest;
	if (upto <= w->seen)
		return 0;
	result = collect_deliveries(w, &batch, &events, err);
	if (result == 0)
		result = write_batch(w, &batch, upto, err);
	arena_done(&batch.arena);
	if (result == 0)
		w->seen = upto;
	return result;
}

/* Skips events that are older than every enabled webhook. */
static void skip_old(struct webhooks *w)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < w->hook_count; i++)
		if (w->hooks[i].record.enabled && w->hooks[i].record.after < first)
			first = w->hooks[i].record.after;
	if (first != INT64_MAX && first > w->seen)
		w->seen = first;
}

int webhooks_dispatch(struct webhooks *w, struct error *err)
{
	bool more = true;

	if (refresh_hooks(w, err) < 0)
		return -1;
	while (more && atomic_load(&w->has_hooks)) {
		skip_old(w);
		if (dispatch_page(w, &more, err) == 0)
			continue;
		/* Another server was faster, or a webhook has changed: retry with the new state. */
		if (err->code != ERROR_CONFLICT)
			return FAIL_CONTEXT(err, "look for webhooks");
		error_clear(err);
		w->is_loaded = false;
		more = true;
	}
	return 0;
}
