/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database.h"

#include <string.h>

#include "base/log.h"
#include "store/driver.h"
#include "store/event_rows.h"
#include "store/touches.h"

static const struct scheme {
	const char *name;
	const struct store_driver *driver;
} schemes[] = {
        {"sqlite:", &sqlite_driver},
        {"postgres:", &postgres_driver},
        {"postgresql:", &postgres_driver},
};

/* *ret_place: the DSN without its scheme. */
static int find_driver(const char *dsn, const struct store_driver **ret, const char **ret_place,
                       struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(schemes); i++) {
		size_t size = strlen(schemes[i].name);

		if (strncmp(dsn, schemes[i].name, size) != 0)
			continue;
		*ret = schemes[i].driver;
		*ret_place = dsn + size;
		return 0;
	}
	/* The error does not repeat the DSN, which may hold a password. */
	error_set(err, ERROR_INVALID, 0, HERE, "the store's address names no known database");
	return FAIL_HINT(err,
	                 "sqlite:/path/to/atoll.db, sqlite::memory:, postgresql://user@host/name "
	                 "or postgresql:host=/run/postgresql dbname=name");
}

int store_open(const char *dsn, struct store **ret, struct error *err)
{
	const struct store_driver *driver;
	const char *place;

	if (find_driver(dsn, &driver, &place, err) < 0)
		return -1;
	if (driver->open(place, ret, err) < 0)
		return FAIL_CONTEXT(err, "open store");
	(*ret)->driver = driver;
	(*ret)->touches = touches_new();
	(*ret)->watchers = event_watchers_new();
	return 0;
}

int store_copy(const char *dsn, const char *path, struct error *err)
{
	const struct store_driver *driver;
	const char *place;

	if (find_driver(dsn, &driver, &place, err) < 0)
		return -1;
	if (!driver->copy) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "the store is PostgreSQL, which is copied by its own programs");
		return FAIL_HINT(err, "run pg_dump of its database, and copy the data folder while "
		                      "the server is stopped and no sandbox runs");
	}
	return driver->copy(place, path, err);
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

int migrations_apply(int64_t version,
                     int (*apply)(void *context, const struct migration *m, struct error *err),
                     void *context, struct error *err)
{
	int64_t last = 0;

	for (const struct migration *m = store_migrations; m->number > 0; m++) {
		last = m->number;
		if (m->number > version && apply(context, m, err) < 0)
			return FAIL_CONTEXT(err, "migration %d (%s)", (int)m->number, m->name);
	}
	if (version <= last)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "the database is at version %d, this program knows up to %d", (int)version,
	           (int)last);
	return FAIL_HINT(err,
	                 "it was written by a newer Atoll: use that one, or a copy made before");
}

uint64_t store_sync_begin(struct store *store)
{
	return store->driver->sync_begin(store);
}

int store_sync_wait(struct store *store, uint64_t sync, struct error *err)
{
	return store->driver->sync_wait(store, sync, err);
}

int store_ping(struct store *store, struct error *err)
{
	int64_t ignored;

	return store_count_query(store, QUERY_STORE_PING, NULL, &ignored, err);
}

int store_tidy(struct store *store, struct error *err)
{
	if (touches_write(store, err) < 0)
		return -1;
	return store->driver->tidy(store, err);
}
