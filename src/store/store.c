/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/driver.h"

#define ROWS_FIRST 8

static const struct scheme {
	const char *name;
	const struct store_driver *driver;
} schemes[] = {
        {"sqlite:", &sqlite_driver},
        {"postgres:", &postgres_driver},
        {"postgresql:", &postgres_driver},
};

int store_open(const char *dsn, struct store **ret, struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(schemes); i++) {
		size_t size = strlen(schemes[i].name);

		if (strncmp(dsn, schemes[i].name, size) != 0)
			continue;
		if (schemes[i].driver->open(dsn + size, ret, err) < 0)
			return FAIL_CONTEXT(err, "open store");
		(*ret)->driver = schemes[i].driver;
		(*ret)->touches = touches_new();
		(*ret)->watchers = event_watchers_new();
		return 0;
	}
	/* The error does not repeat the DSN, which may hold a password. */
	error_set(err, ERROR_INVALID, 0, HERE, "the store's address names no known database");
	error_hint(err, "sqlite:/path/to/atoll.db, sqlite::memory:, postgresql://user@host/name or "
	                "postgresql:host=/run/postgresql dbname=name");
	return -1;
}

void store_close(struct store *store)
{
	struct error err = {0};
	struct event_watchers *watchers;
	struct touches *touches;

	if (!store)
		return;
	touches = store->touches;
	watchers = store->watchers;
	if (touches_write(store, &err) < 0)
		log_warning("last-used times are lost", FAILURE(&err));
	store->driver->close(store);
	touches_free(touches);
	event_watchers_free(watchers);
}

uint64_t store_sync_begin(struct store *store)
{
	return store->driver->sync_begin(store);
}

int store_sync_wait(struct store *store, uint64_t sync, struct error *err)
{
	return store->driver->sync_wait(store, sync, err);
}

static int run_ping(struct store_connection *c, void *context, struct error *err)
{
	struct rows rows = {.arena = context, .size = sizeof(struct row_count)};

	return query_run(c, QUERY_STORE_PING, NULL, &rows, err) < 0 ? -1 : 0;
}

int store_ping(struct store *store, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};

	return store_read(store, &(struct transaction){.run = run_ping, .context = &arena}, err);
}

int store_tidy(struct store *store, struct error *err)
{
	if (touches_write(store, err) < 0)
		return -1;
	return store->driver->tidy(store, err);
}

const struct column *query_column(const struct store_query *query, const struct column *shape,
                                  const char *name)
{
	for (const struct column *column = shape; column && column->kind != COLUMN_END; column++)
		if (strcmp(column->name, name) == 0)
			return column;
	log_error("query names what its shape does not have", TEXT("query", query->name),
	          TEXT("name", name));
	abort();
}

void *rows_add(struct rows *rows)
{
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? 2 * rows->capacity : ROWS_FIRST;
		char *items = arena_alloc(rows->arena, capacity * rows->size);

		if (rows->count > 0)
			memcpy(items, rows->items, rows->count * rows->size);
		rows->items = items;
		rows->capacity = capacity;
	}
	return (char *)rows->items + rows->count++ * rows->size;
}

int query_run(struct store_connection *c, enum query_name query, const void *takes,
              struct rows *rows, struct error *err)
{
	return c->store->driver->run(c, query, takes, rows, err);
}

int query_find(struct store_connection *c, enum query_name query, const void *takes,
               struct rows *row, void *ret, struct error *err)
{
	row->count = 0;
	if (query_run(c, query, takes, row, err) < 0)
		return -1;
	if (row->count == 0)
		return 0;
	memcpy(ret, row->items, row->size);
	return 1;
}

int query_count(struct store_connection *c, enum query_name query, const void *takes, int64_t *ret,
                struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct rows rows = {.arena = &arena, .size = sizeof(struct row_count)};
	struct row_count tally = {0};

	if (query_find(c, query, takes, &rows, &tally, err) < 0)
		return -1;
	*ret = tally.count;
	return 0;
}

int store_read(struct store *s, const struct transaction *t, struct error *err)
{
	return s->driver->read(s, t, err);
}

int store_change(struct store *s, const struct transaction *t, struct error *err)
{
	uint64_t count = event_watchers_count(s->watchers);

	if (s->driver->change(s, t, err) < 0)
		return -1;
	/* Notifies when events were added since, its own or those of others. */
	if (event_watchers_count(s->watchers) != count)
		event_watchers_notify(s->watchers);
	return 0;
}

struct single {
	enum query_name query;
	const void *takes;
	struct rows *rows;
	int count;
};

static int run_single(struct store_connection *c, void *context, struct error *err)
{
	struct single *single = context;

	if (single->rows)
		single->rows->count = 0;
	single->count = query_run(c, single->query, single->takes, single->rows, err);
	return single->count < 0 ? -1 : 0;
}

int store_read_query(struct store *s, enum query_name query, const void *takes, struct rows *rows,
                     struct error *err)
{
	struct single single = {query, takes, rows, 0};

	if (store_read(s, &(struct transaction){.run = run_single, .context = &single}, err) < 0)
		return -1;
	return single.count;
}

int store_change_query(struct store *s, enum query_name query, const void *takes, struct error *err)
{
	struct single single = {query, takes, NULL, 0};

	if (store_change(s, &(struct transaction){.run = run_single, .context = &single}, err) < 0)
		return -1;
	return single.count;
}
