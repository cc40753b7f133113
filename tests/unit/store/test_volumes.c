/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include "store/events.h"
#include "store/volumes.h"

static struct volume_record sample_volume(const char *id, const char *name)
{
	return (struct volume_record){.id = id,
	                              .project_id = PROJECT,
	                              .name = name,
	                              .provider = "null",
	                              .size_mb = 64,
	                              .state = VOLUME_READY,
	                              .created_at = NOW,
	                              .updated_at = NOW};
}

static void add_volume(struct store *s, const char *id, const char *name)
{
	const struct volume_record volume = sample_volume(id, name);
	struct error err = {0};

	assert_done(store_volume_insert(s, &volume, 100, &err));
}

static void add_sandbox(struct store *s, const char *id, const char *name)
{
	const struct sandbox_record sandbox = sample_sandbox(id, name);
	struct error err = {0};

	assert_done(store_sandbox_insert(s, &sandbox, 0, &err));
}

static struct mount_record sample_mount(const char *sandbox_id, const char *volume_id)
{
	return (struct mount_record){.sandbox_id = sandbox_id,
	                             .volume_id = volume_id,
	                             .path = "/workspace",
	                             .subpath = "users",
	                             .created_at = NOW};
}

static struct mount_record to_read(struct mount_record mount)
{
	mount.is_read_only = true;
	return mount;
}

static int attach(struct store *s, struct mount_record mount, struct error *err)
{
	return store_mounts_insert(s, &mount, 1, err);
}

static size_t count_holders(struct store *s, const char *volume_id)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct mount_list list;

	assert_done(store_mounts_of_volume(s, &a, volume_id, &list, &err));
	return list.count;
}

static void move_sandbox(struct store *s, const char *id, enum sandbox_state from,
                         enum sandbox_state to)
{
	const struct sandbox_move move = sample_move(id, from, to);
	struct error err = {0};

	assert_done(store_sandbox_move(s, &move, &err));
}

#define V1 "vvvvvvvvvvvvvvvvvvvv"
#define V2 "wwwwwwwwwwwwwwwwwwww"
#define S1 "ssssssssssssssssssss"
#define S2 "tttttttttttttttttttt"

static void a_volume_comes_back_as_it_went_in(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct volume_record found;

	add_volume(*state, V1, "data");
	assert_done(store_volume_find(*state, &a, PROJECT, "data", &found, &err));
	assert_string_equal(found.id, V1);
	assert_string_equal(found.provider, "null");
	assert_int_equal(found.size_mb, 64);
	assert_int_equal(found.state, VOLUME_READY);
	assert_int_equal(found.version, 1);
	assert_done(store_volume_find(*state, &a, PROJECT, V1, &found, &err));
	assert_done(store_volume_find(*state, &a, NULL, V1, &found, &err));
	assert_refused(store_volume_find(*state, &a, "other", V1, &found, &err), ERROR_NOT_FOUND);
	assert_refused(store_volume_find(*state, &a, PROJECT, "' OR 1=1", &found, &err),
	               ERROR_NOT_FOUND);
}

static void a_name_is_one_volumes_in_its_project(void **state)
{
	const struct volume_record second = sample_volume(V2, "data");
	struct error err = {0};

	add_volume(*state, V1, "data");
	assert_refused(store_volume_insert(*state, &second, 100, &err), ERROR_CONFLICT);
}

static void a_project_has_a_limited_number_of_volumes(void **state)
{
	const struct volume_record second = sample_volume(V2, "more");
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct volume_list list;

	add_volume(*state, V1, "data");
	assert_refused(store_volume_insert(*state, &second, 1, &err), ERROR_LIMIT);
	assert_done(store_volume_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_volume_insert(*state, &second, 2, &err));
	assert_done(store_volume_list(*state, &a, NULL, &list, &err));
	assert_int_equal(list.count, 2);
}

static void one_sandbox_writes_or_many_read(void **state)
{
	struct error err = {0};

	add_volume(*state, V1, "data");
	add_sandbox(*state, S1, "one");
	add_sandbox(*state, S2, "two");
	assert_done(attach(*state, sample_mount(S1, V1), &err));
	assert_refused(attach(*state, sample_mount(S2, V1), &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "'one'"));
	assert_refused(attach(*state, to_read(sample_mount(S2, V1)), &err), ERROR_CONFLICT);
	assert_done(store_mount_remove(*state, S1, V1, &err));
	assert_done(attach(*state, to_read(sample_mount(S1, V1)), &err));
	assert_done(attach(*state, to_read(sample_mount(S2, V1)), &err));
	assert_int_equal(count_holders(*state, V1), 2);
	assert_refused(store_mount_remove(*state, S1, V2, &err), ERROR_NOT_FOUND);
}

static void a_place_has_one_volume(void **state)
{
	struct error err = {0};

	add_volume(*state, V1, "data");
	add_volume(*state, V2, "more");
	add_sandbox(*state, S1, "one");
	assert_done(attach(*state, sample_mount(S1, V1), &err));
	assert_refused(attach(*state, sample_mount(S1, V2), &err), ERROR_CONFLICT);
	assert_int_equal(count_holders(*state, V2), 0);
}

static void a_sandbox_comes_with_its_volumes_or_not_at_all(void **state)
{
	const struct sandbox_record second = sample_sandbox(S2, "two");
	struct mount_record both[] = {sample_mount(S2, V2), sample_mount(S2, V1)};
	AUTO(arena_done) struct arena a = {0};
	struct mount_list mounts = {both, COUNT_OF(both)};
	struct sandbox_record found;
	struct error err = {0};

	both[1].path = "/other";
	add_volume(*state, V1, "data");
	add_volume(*state, V2, "more");
	add_sandbox(*state, S1, "one");
	assert_done(attach(*state, sample_mount(S1, V1), &err));
	assert_refused(store_sandbox_insert_with(
	                       *state,
	                       &(struct sandbox_insertion){.record = &second, .mounts = &mounts},
	                       &err),
	               ERROR_CONFLICT);
	assert_refused(store_sandbox_find(*state, &a, NULL, S2, &found, &err), ERROR_NOT_FOUND);
	assert_int_equal(count_holders(*state, V2), 0);
	assert_done(store_mount_remove(*state, S1, V1, &err));
	assert_done(store_sandbox_insert_with(
	        *state, &(struct sandbox_insertion){.record = &second, .mounts = &mounts}, &err));
	assert_done(store_mounts_of_sandbox(*state, &a, S2, &mounts, &err));
	assert_int_equal(mounts.count, 2);
	assert_string_equal(mounts.items[0].volume_name, "data");
	assert_string_equal(mounts.items[0].subpath, "users");
	assert_int_equal(mounts.items[0].sandbox_state, SANDBOX_PENDING);
}

static size_t count_told(struct store *s, const char *kind)
{
	const struct event_page page = {.pattern = kind, .limit = 100};
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct event_list told;

	assert_done(store_event_list(s, &a, &page, &told, &err));
	return told.count;
}

static void a_deleted_or_failed_sandbox_holds_nothing(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct mount_list left;

	add_volume(*state, V1, "data");
	add_sandbox(*state, S1, "one");
	assert_done(attach(*state, sample_mount(S1, V1), &err));
	move_sandbox(*state, S1, SANDBOX_PENDING, SANDBOX_DELETING);
	assert_int_equal(count_holders(*state, V1), 1);
	move_sandbox(*state, S1, SANDBOX_DELETING, SANDBOX_DELETED);
	assert_int_equal(count_holders(*state, V1), 0);
	add_sandbox(*state, S2, "two");
	assert_int_equal(count_told(*state, "volume.detached"), 0);
	assert_done(attach(*state, sample_mount(S2, V1), &err));
	assert_int_equal(count_told(*state, "volume.detached"), 1);
	assert_done(store_mounts_of_sandbox(*state, &a, S1, &left, &err));
	assert_int_equal(left.count, 0);
	move_sandbox(*state, S2, SANDBOX_PENDING, SANDBOX_FAILED);
	assert_int_equal(count_holders(*state, V1), 0);
	move_sandbox(*state, S2, SANDBOX_FAILED, SANDBOX_DELETING);
	move_sandbox(*state, S2, SANDBOX_DELETING, SANDBOX_DELETED);
	assert_done(store_mounts_tidy(*state, &err));
	assert_done(store_mounts_tidy(*state, &err));
	assert_int_equal(count_told(*state, "volume.detached"), 2);
}

static void a_volume_goes_when_nobody_has_it(void **state)
{
	const struct volume_move deleting = {
	        .id = V1, .from = VOLUME_READY, .to = VOLUME_DELETING, .now = NOW + 1};
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct volume_record r;

	add_volume(*state, V1, "data");
	add_sandbox(*state, S1, "one");
	assert_done(attach(*state, to_read(sample_mount(S1, V1)), &err));
	assert_refused(store_volume_move(*state, &a, &deleting, &r, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "'one'"));
	/* The row of a sandbox that is gone is no obstacle. */
	move_sandbox(*state, S1, SANDBOX_PENDING, SANDBOX_DELETING);
	move_sandbox(*state, S1, SANDBOX_DELETING, SANDBOX_DELETED);
	assert_done(store_volume_move(*state, &a, &deleting, &r, &err));
	assert_int_equal(r.version, 3); /* the attach was the second */
	assert_refused(store_volume_move(*state, &a, &deleting, &r, &err), ERROR_CONFLICT);
	add_sandbox(*state, S2, "two");
	assert_refused(attach(*state, sample_mount(S2, V1), &err), ERROR_CONFLICT);
	assert_done(store_volume_remove(*state, V1, &err));
	assert_done(store_volume_remove(*state, V1, &err));
	assert_refused(store_volume_find(*state, &a, NULL, V1, &r, &err), ERROR_NOT_FOUND);
	assert_refused(store_volume_move(*state, &a, &deleting, &r, &err), ERROR_NOT_FOUND);
}

static void only_a_going_volume_is_removed(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct volume_record r;

	add_volume(*state, V1, "data");
	assert_done(store_volume_remove(*state, V1, &err));
	assert_done(store_volume_find(*state, &a, NULL, V1, &r, &err));
}

static void what_enforces_the_size_is_known_when_it_is_made(void **state)
{
	const struct volume_move ready = {.id = V1,
	                                  .from = VOLUME_MAKING,
	                                  .to = VOLUME_READY,
	                                  .size_is_advisory = true,
	                                  .now = NOW + 1};
	AUTO(arena_done) struct arena a = {0};
	struct volume_record r = sample_volume(V1, "data");
	struct error err = {0};

	r.state = VOLUME_MAKING;
	assert_done(store_volume_insert(*state, &r, 100, &err));
	assert_done(store_volume_move(*state, &a, &ready, &r, &err));
	assert_int_equal(r.state, VOLUME_READY);
	assert_true(r.size_is_advisory);
	assert_int_equal(r.updated_at, NOW + 1);
}

static void a_volume_grows_and_does_not_shrink(void **state)
{
	struct volume_move grow = {
	        .id = V1, .from = VOLUME_READY, .to = VOLUME_READY, .now = NOW + 1};
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct volume_record before, r;

	add_volume(*state, V1, "data");
	assert_done(store_volume_find(*state, &a, NULL, V1, &before, &err));
	grow.size_mb = before.size_mb + 1;
	assert_done(store_volume_move(*state, &a, &grow, &r, &err));
	assert_int_equal(r.size_mb, before.size_mb + 1);
	grow.size_mb = 1;
	assert_done(store_volume_move(*state, &a, &grow, &r, &err));
	assert_int_equal(r.size_mb, before.size_mb + 1);
	assert_int_equal(r.version, before.version + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(a_volume_comes_back_as_it_went_in),
	        EACH(a_name_is_one_volumes_in_its_project),
	        EACH(a_project_has_a_limited_number_of_volumes),
	        EACH(one_sandbox_writes_or_many_read),
	        EACH(a_place_has_one_volume),
	        EACH(a_sandbox_comes_with_its_volumes_or_not_at_all),
	        EACH(a_deleted_or_failed_sandbox_holds_nothing),
	        EACH(a_volume_goes_when_nobody_has_it),
	        EACH(only_a_going_volume_is_removed),
	        EACH(what_enforces_the_size_is_known_when_it_is_made),
	        EACH(a_volume_grows_and_does_not_shrink),
	};

	return each_store_run(tests, COUNT_OF(tests));
}
