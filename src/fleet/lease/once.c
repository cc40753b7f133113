/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lease/once.h"

#include <string.h>

#include "base/id.h"
#include "fleet/core/fleet_state.h"
#include "fleet/lease/leases_in_flight.h"
#include "sandbox/lease.h"

#define WAIT_MS 30000
#define LOOK_EVERY_MS 50

static int check_key(const char *key, struct error *err)
{
	size_t size = strlen(key);

	for (size_t i = 0; i < size; i++)
		if (key[i] < '!' || key[i] > '~')
			size = 0;
	if (size > 0 && size <= ONCE_KEY_MAX)
		return 0;
	(void)FAIL(err, ERROR_INVALID, "Idempotency-Key: not a key");
	return FAIL_HINT(err, "1 to %d visible ASCII characters, such as a UUID", ONCE_KEY_MAX);
}

static struct once_record record_of(const struct fleet_once *once, const char *id)
{
	struct once_record r = {
	        .project_id = once->project_id,
	        .operation = once->operation,
	        .key = once->key,
	        .sandbox_id = id,
	        .begun_at = clock_unix_ms(),
	};

	memcpy(r.hash, once->hash, sizeof(r.hash));
	return r;
}

static struct once_change change_of(const struct fleet_once *once, const char *seen_id)
{
	return (struct once_change){
	        .project_id = once->project_id,
	        .operation = once->operation,
	        .key = once->key,
	        .seen_id = seen_id,
	        .sandbox_id = seen_id,
	        .now = clock_unix_ms(),
	};
}

/* The sandbox of the first request counts as made once it exists. A sandbox that failed, or
 * is missing for longer than a claim lasts, counts as abandoned. */
static bool is_made(const struct once_record *r)
{
	return r->done || r->actual == SANDBOX_STARTED || r->actual == SANDBOX_PAUSED ||
	       r->actual == SANDBOX_STOPPED;
}

static bool is_given_up(const struct once_record *r)
{
	return r->actual == SANDBOX_FAILED ||
	       (r->actual == SANDBOX_DELETED &&
	        clock_unix_ms() - r->begun_at > LEASE_CREATING_MAX_MS);
}

/* 1: *ret is set; 0: try again. */
static int try_begin(struct fleet *f, struct arena *a, const struct fleet_once *once,
                     struct fleet_once_found *ret, struct error *err)
{
	struct id id = id_new();
	struct once_record r = record_of(once, arena_text(a, id.text)), seen;
	struct once_change change;

	if (store_once_insert(f->store, &r, err) == 0) {
		*ret = (struct fleet_once_found){.is_first = true, .id = r.sandbox_id};
		return 1;
	}
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	if (store_once_find(f->store, a, &r, &seen, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	if (memcmp(seen.hash, r.hash, sizeof(r.hash)) != 0) {
		(void)FAIL(err, ERROR_CONFLICT,
		           "Idempotency-Key: '%.100s' came with another body before", once->key);
		return FAIL_HINT(err, "a new request needs a new key");
	}
	if (is_made(&seen)) {
		*ret = (struct fleet_once_found){.id = seen.sandbox_id, .created = seen.created};
		return 1;
	}
	if (!is_given_up(&seen))
		return 0;
	change = change_of(once, seen.sandbox_id);
	change.sandbox_id = r.sandbox_id;
	if (store_once_take_over(f->store, &change, err) < 0)
		return err->code == ERROR_CONFLICT ? 0 : -1;
	*ret = (struct fleet_once_found){.is_first = true, .id = r.sandbox_id};
	return 1;
}

int fleet_once_begin(struct fleet *fleet, struct arena *a, const struct fleet_once *once,
                     struct fleet_once_found *ret, struct error *err)
{
	char key[ERROR_AWAITS_MAX];
	int64_t deadline;
	int result;

	if (check_key(once->key, err) < 0)
		return -1;
	awaited_key("once", once->key, key);
	deadline = awaited_since(&once->awaited, key) + WAIT_MS;
	while ((result = try_begin(fleet, a, once, ret, err)) == 0) {
		const struct lease_wait wait = {
		        .name = "",
		        .generation = leases_in_flight_generation(fleet->leases),
		        .until = deadline_after(LOOK_EVERY_MS),
		};

		error_clear(err);
		if (clock_monotonic_ms() >= deadline) {
			(void)FAIL(err, ERROR_CONFLICT,
			           "Idempotency-Key: the first request with '%.100s' is still "
			           "being worked on",
			           once->key);
			return FAIL_HINT(err, "ask again");
		}
		if (once->parks) {
			(void)FAIL(err, ERROR_UNAVAILABLE,
			           "the first request with Idempotency-Key '%.100s' runs",
			           once->key);
			error_await(err, key, awaited_rest_ms(&once->awaited, key, LOOK_EVERY_MS),
			            -1);
			return -1;
		}
		if (leases_in_flight_wait(fleet->leases, &wait, err) < 0)
			return -1;
	}
	return result < 0 ? -1 : 0;
}

static void announce_outcome(struct fleet *f, const struct fleet_once *once)
{
	char key[ERROR_AWAITS_MAX];

	awaited_key("once", once->key, key);
	leases_in_flight_announce(f->leases);
	awaited_announce(f, key);
}

void fleet_once_done(struct fleet *fleet, const struct fleet_once *once,
                     const struct fleet_once_found *found, const struct fleet_once_result *result)
{
	struct once_change change = change_of(once, found->id);
	struct error err = {0};

	change.sandbox_id = result->id;
	change.created = result->created;
	if (store_once_done(fleet->store, &change, &err) < 0)
		log_warning("a request may be done twice", TEXT("key", once->key), FAILURE(&err));
	announce_outcome(fleet, once);
}

void fleet_once_failed(struct fleet *fleet, const struct fleet_once *once,
                       const struct fleet_once_found *found)
{
	const struct once_change change = change_of(once, found->id);
	struct error err = {0};

	if (store_once_remove(fleet->store, &change, &err) < 0 && err.code != ERROR_CONFLICT)
		log_warning("a request that failed waits to be taken over", TEXT("key", once->key),
		            FAILURE(&err));
	announce_outcome(fleet, once);
}
