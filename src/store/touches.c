/* SPDX-License-Identifier: Apache-2.0 */
#include "store/touches.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/map.h"
#include "store/column_rows.h"
#include "store/driver.h"
#include "store/query.h"

COLUMNS_OF(touch);

/* An id's value is its time: a map borrows pointers, and 64 bits of time fit in one. */
struct touches {
	pthread_mutex_t mutex;
	struct map waiting[TOUCHED_COUNT];
};

static const enum query_name touch_queries[TOUCHED_COUNT] = {
        [TOUCHED_SANDBOX] = QUERY_SANDBOX_TOUCH,
        [TOUCHED_KEY] = QUERY_KEY_TOUCH,
        [TOUCHED_LOGIN] = QUERY_LOGIN_TOUCH,
};

struct touches *touches_new(void)
{
	struct touches *t = memory_new(sizeof(*t));

	pthread_mutex_init(&t->mutex, NULL);
	return t;
}

void touches_free(struct touches *t)
{
	if (!t)
		return;
	for (unsigned kind = 0; kind < TOUCHED_COUNT; kind++)
		map_done(&t->waiting[kind]);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

void touches_add(struct store *s, enum touched kind, const char *id, int64_t now)
{
	struct touches *t = s->touches;

	assert(kind < TOUCHED_COUNT && id);
	if (now <= 0)
		return;
	pthread_mutex_lock(&t->mutex);
	map_put(&t->waiting[kind], id, (void *)(intptr_t)now);
	pthread_mutex_unlock(&t->mutex);
}

int64_t touches_latest(struct store *s, enum touched kind, const char *id, int64_t read)
{
	struct touches *t = s->touches;
	int64_t waiting;

	pthread_mutex_lock(&t->mutex);
	waiting = (intptr_t)map_find(&t->waiting[kind], id);
	pthread_mutex_unlock(&t->mutex);
	return waiting > read ? waiting : read;
}

/* The touches of a write, copied so that calls continue while the database writes. */
struct touch_batch {
	struct touch *items[TOUCHED_COUNT];
	size_t counts[TOUCHED_COUNT], total;
};

static void collect_touches(struct touches *t, struct arena *a, struct touch_batch *batch)
{
	pthread_mutex_lock(&t->mutex);
	for (unsigned kind = 0; kind < TOUCHED_COUNT; kind++) {
		size_t at = 0;
		const char *id;
		void *value;

		batch->items[kind] = ARENA_ARRAY(a, struct touch, t->waiting[kind].count + 1);
		while ((value = map_next(&t->waiting[kind], &at, &id)))
			batch->items[kind][batch->counts[kind]++] =
			        (struct touch){arena_text(a, id), (intptr_t)value};
		batch->total += batch->counts[kind];
	}
	pthread_mutex_unlock(&t->mutex);
}

/* An id that was touched again in the meantime stays pending. */
static void forget_written(struct touches *t, const struct touch_batch *batch)
{
	pthread_mutex_lock(&t->mutex);
	for (unsigned kind = 0; kind < TOUCHED_COUNT; kind++) {
		for (size_t i = 0; i < batch->counts[kind]; i++) {
			const struct touch *touch = &batch->items[kind][i];

			if ((intptr_t)map_find(&t->waiting[kind], touch->id) == touch->at)
				map_remove(&t->waiting[kind], touch->id);
		}
	}
	pthread_mutex_unlock(&t->mutex);
}

static int run_batch(struct store_connection *c, void *context, struct error *err)
{
	const struct touch_batch *batch = context;

	for (unsigned kind = 0; kind < TOUCHED_COUNT; kind++)
		for (size_t i = 0; i < batch->counts[kind]; i++)
			if (query_run(c, touch_queries[kind], &batch->items[kind][i], NULL, err) <
			    0)
				return -1;
	return 0;
}

int touches_write(struct store *s, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct touch_batch batch = {0};

	collect_touches(s->touches, &arena, &batch);
	if (batch.total == 0)
		return 0;
	if (store_change_lazily(s, run_batch, &batch, err) < 0)
		return FAIL_CONTEXT(err, "write last-used times");
	forget_written(s->touches, &batch);
	return 0;
}
