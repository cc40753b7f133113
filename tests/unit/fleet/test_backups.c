/* SPDX-License-Identifier: Apache-2.0 */
/* Who removes a backup, where each server has a folder of blobs of its own, or they share one. */
#include "blob/blob.h"
#include "harness.h"
#include "provider/provider.h"
#include "store/backups.h"
#include "store/peers.h"
#include "fleet/backup/backups.h"
#include "fleet/core/fleet_state.h"
#include "fleet/server/fleet.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#define ID "aaaaaaaaaaaaaaaaaaaa"
#define BLOB "backups/" ID ".tar.zst"
#define OTHER "their-node"

static char folder[] = "/tmp/atoll-unit-XXXXXX";
static struct blob_store *blobs;

static int set_up(void **state)
{
	struct error err = {0};
	struct harness *h;

	if (harness_open(state) < 0)
		return -1;
	h = *state;
	h->fake.own.abilities |= PROVIDER_CAN_SNAPSHOT | PROVIDER_CAN_BACKUP;
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(folder));
	assert_done(blob_open(folder, &blobs, &err));
	h->fleet->blobs = blobs;
	return 0;
}

static int remove_file(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

static int tear_down(void **state)
{
	struct error err = {0};
	int result;

	assert_done(blob_delete(blobs, BLOB, &err));
	result = harness_close(state);
	blob_close(blobs);
	assert_int_equal(nftw(folder, remove_file, 8, FTW_DEPTH | FTW_PHYS), 0);
	return result;
}

static void add(struct harness *h, const char *node, enum backup_state state)
{
	const struct backup_record r = {.id = ID,
	                                .project_id = PROJECT,
	                                .name = "kept",
	                                .holder_id = "",
	                                .node = node,
	                                .state = state,
	                                .created_at = 1};
	struct error err = {0};

	assert_done(store_backup_insert(h->store, &r, 100, &err));
}

static void add_blob(void)
{
	const struct blob_put put = {.name = BLOB, .size_max = 100};
	struct blob_writer *writer;
	struct error err = {0};
	int64_t size;

	assert_done(blob_put(blobs, &put, &writer, &err));
	assert_done(blob_commit(writer, &size, &err));
}

/* Heard of `ago_ms` ago. */
static void add_peer(struct harness *h, int64_t ago_ms)
{
	const struct peer_record r = {
	        .node = OTHER, .url = "http://10.0.0.2:1", .seen_at = clock_unix_ms() - ago_ms};
	struct error err = {0};

	assert_done(store_peer_put(h->store, &r, &err));
}

static int drop(struct harness *h, struct error *err)
{
	return fleet_backup_remove(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, ID}, err);
}

/* -1: there is none. */
static int state_of(struct harness *h)
{
	struct backup_record r;
	struct error err = {0};

	if (store_backup_find(h->store, &h->arena, PROJECT, ID, &r, &err) == 0)
		return (int)r.state;
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	return -1;
}

static void forget(struct harness *h)
{
	struct error err = {0};

	assert_done(store_backup_remove(h->store, ID, &err));
}

static void what_lies_here_is_removed_whoever_made_it(void **state)
{
	static const enum backup_state states[] = {BACKUP_MAKING, BACKUP_READY, BACKUP_FAILED,
	                                           BACKUP_REMOVING};
	struct harness *h = *state;
	struct error err = {0};
	struct blob_stat found;

	for (unsigned i = 0; i < COUNT_OF(states); i++) {
		add(h, OTHER, states[i]);
		add_blob();
		assert_done(drop(h, &err));
		assert_int_equal(state_of(h), -1);
		assert_refused(blob_stat(blobs, BLOB, &found, &err), ERROR_NOT_FOUND);
	}
}

static void what_is_ready_elsewhere_is_removed_there(void **state)
{
	struct harness *h = *state;
	struct error err = {0};

	add(h, OTHER, BACKUP_READY);
	assert_refused(drop(h, &err), ERROR_CONFLICT);
	assert_string_equal(err.node, OTHER);
	assert_non_null(strstr(err.text, OTHER));
	assert_int_equal(state_of(h), BACKUP_READY);
	add_peer(h, 24 * 3600 * 1000);
	assert_refused(drop(h, &err), ERROR_CONFLICT);
	assert_int_equal(state_of(h), BACKUP_READY);
}

static void what_is_half_done_elsewhere_is_told_to_whoever_does_it(void **state)
{
	static const enum backup_state states[] = {BACKUP_MAKING, BACKUP_REMOVING};
	struct harness *h = *state;
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(states); i++) {
		add(h, OTHER, states[i]);
		assert_done(drop(h, &err));
		assert_int_equal(state_of(h), BACKUP_REMOVING);
		assert_done(drop(h, &err));
		assert_int_equal(state_of(h), BACKUP_REMOVING);
		forget(h);
	}
	/* Its maker comes to the end and sees it. */
	add(h, OTHER, BACKUP_MAKING);
	assert_done(drop(h, &err));
	assert_refused(store_backup_update(h->store,
	                                   &(struct backup_record){.id = ID, .state = BACKUP_READY},
	                                   false, &err),
	               ERROR_NOT_FOUND);
}

static void whoever_can_be_asked_is(void **state)
{
	static const enum backup_state states[] = {BACKUP_MAKING, BACKUP_REMOVING};
	struct harness *h = *state;
	struct error err = {0};

	for (unsigned i = 0; i < COUNT_OF(states); i++) {
		add_peer(h, 0);
		add(h, OTHER, states[i]);
		assert_refused(drop(h, &err), ERROR_CONFLICT);
		assert_string_equal(err.node, OTHER);
		assert_int_equal(state_of(h), states[i]);
		/* Silent for long: it sees what is said of it when it is back. */
		add_peer(h, 60 * 1000);
		assert_done(drop(h, &err));
		assert_int_equal(state_of(h), BACKUP_REMOVING);
		forget(h);
	}
}

static void of_one_that_failed_there_is_a_row_alone(void **state)
{
	struct harness *h = *state;
	struct error err = {0};

	add(h, OTHER, BACKUP_FAILED);
	assert_done(drop(h, &err));
	assert_int_equal(state_of(h), -1);
}

static void what_this_one_makes_it_ends(void **state)
{
	struct harness *h = *state;
	struct error err = {0};
	struct blob_stat found;

	add(h, h->fleet->node, BACKUP_MAKING);
	assert_done(drop(h, &err));
	assert_int_equal(state_of(h), BACKUP_REMOVING);
	assert_done(drop(h, &err));
	assert_int_equal(state_of(h), -1);
	/* It is whole already, and nobody will look at its row again. */
	add(h, h->fleet->node, BACKUP_MAKING);
	add_blob();
	assert_done(drop(h, &err));
	assert_int_equal(state_of(h), -1);
	assert_refused(blob_stat(blobs, BLOB, &found, &err), ERROR_NOT_FOUND);
}

#define HERE_AND_THERE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* The provider has no calls for snapshots, which a sweep would make. */
static void sweep(struct harness *h, int64_t failed_keep_ms)
{
	h->config.failed_keep_ms = failed_keep_ms;
	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_SNAPSHOT;
	h->fleet->swept_at = 0;
	fleet_tick(h->fleet);
}

static void a_failed_backup_is_removed_after_a_time(void **state)
{
	struct harness *h = *state;

	add(h, h->fleet->node, BACKUP_FAILED);
	/* It was made at 1: in an hour it will have been kept for that long. */
	sweep(h, clock_unix_ms() + 3600 * 1000);
	assert_int_equal(state_of(h), BACKUP_FAILED);
	sweep(h, 60000);
	assert_int_equal(state_of(h), -1);
}

static void a_backup_that_is_whole_stays(void **state)
{
	struct harness *h = *state;

	add(h, h->fleet->node, BACKUP_READY);
	sweep(h, 60000);
	assert_int_equal(state_of(h), BACKUP_READY);
}

int main(void)
{
	return RUN_EACH(HERE_AND_THERE(what_lies_here_is_removed_whoever_made_it),
	                HERE_AND_THERE(what_is_ready_elsewhere_is_removed_there),
	                HERE_AND_THERE(what_is_half_done_elsewhere_is_told_to_whoever_does_it),
	                HERE_AND_THERE(whoever_can_be_asked_is),
	                HERE_AND_THERE(of_one_that_failed_there_is_a_row_alone),
	                HERE_AND_THERE(what_this_one_makes_it_ends),
	                HERE_AND_THERE(a_failed_backup_is_removed_after_a_time),
	                HERE_AND_THERE(a_backup_that_is_whole_stays));
}
