/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/sandboxes.h"
#include "harness.h"
#include "provider/end.h"
#include "provider/entries.h"
#include "provider/volume.h"
#include "worker/worker.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "fleet/core/waiting.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/lifecycle/lifecycle.h"
#include "fleet/server/fleet.h"
#include "fleet/volume/volume.h"
#include "store/volumes.h"

#include <stdio.h>
#include <unistd.h>

/* What the provider of these tests has of volumes. */
static struct map kept;
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool run_fails, has_limits;
static int64_t last_size_mb;
static enum provider_volume_verb last_verb;
static size_t last_count;
static char last_path[256];
/* A detach waits until this is false, and says that it does. */
static bool is_detach_shut, is_detaching;
static pthread_cond_t detach_changed = PTHREAD_COND_INITIALIZER;
static int (*create_below)(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                           struct provider_created *ret, struct error *err);

static int fake_run(struct provider *p UNUSED, const struct provider_volume *request,
                    int64_t deadline UNUSED, struct provider_volume_state *ret, struct error *err)
{
	int result = 0;

	pthread_mutex_lock(&kept_mutex);
	last_size_mb = request->size_mb;
	last_verb = request->verb;
	if (request->path)
		snprintf(last_path, sizeof(last_path), "%s", request->path);
	while (request->verb == PROVIDER_VOLUME_DETACH && is_detach_shut) {
		is_detaching = true;
		pthread_cond_broadcast(&detach_changed);
		pthread_cond_wait(&detach_changed, &kept_mutex);
	}
	if (run_fails)
		result = FAIL(err, ERROR_SYSTEM, "the provider fails on purpose");
	else if (request->verb == PROVIDER_VOLUME_MAKE)
		map_put(&kept, request->id, &kept);
	else if (request->verb == PROVIDER_VOLUME_REMOVE)
		map_remove(&kept, request->id);
	pthread_mutex_unlock(&kept_mutex);
	*ret = (struct provider_volume_state){.size_is_advisory = !has_limits, .used_bytes = 7};
	return result;
}

static int fake_list(struct provider *p UNUSED, struct arena *a UNUSED, struct provider_list *ret,
                     struct error *err UNUSED)
{
	*ret = (struct provider_list){.count = 0};
	return 0;
}

static int note_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                       struct provider_created *ret, struct error *err)
{
	last_count = spec->mount_count;
	snprintf(last_path, sizeof(last_path), "%s",
	         spec->mount_count > 0 ? spec->mounts[0].path : "");
	return create_below(p, spec, deadline, ret, err);
}

static const struct volume_ops volume_ops = {.run = fake_run, .list = fake_list};

static int set_up(void **state)
{
	struct harness *h;

	run_fails = has_limits = is_detach_shut = is_detaching = false;
	last_count = 0;
	if (harness_open(state) < 0)
		return -1;
	h = *state;
	create_below = h->fake.own.create;
	h->fake.own.create = note_create;
	h->fake.own.volumes = &volume_ops;
	h->fake.own.abilities |= PROVIDER_CAN_VOLUME | PROVIDER_CAN_FILES;
	return 0;
}

static int tear_down(void **state)
{
	int result = harness_close(state);

	map_done(&kept);
	return result;
}

static struct volume_record make(struct harness *h, const char *name)
{
	const struct fleet_volume request = {PROJECT, name, 0};
	struct volume_record r = {0};
	struct error err = {0};

	assert_done(fleet_volume_create(h->fleet, &h->arena, &request, &r, &err));
	return r;
}

static int drop(struct harness *h, const char *name, struct error *err)
{
	return fleet_volume_remove(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, name}, err);
}

static int browse(struct harness *h, const char *name, bool for_writing, struct fleet_hold *hold,
                  struct error *err)
{
	return fleet_volume_browse(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, name},
	                           for_writing, hold, err);
}

static struct sandbox_record create_on(struct harness *h, const char *volume)
{
	const struct fleet_mount mount = {.volume = volume};

	return create_with(
	        h, (struct fleet_create){.mounts = &mount, .mount_count = 1, .persistent = true});
}

static size_t count_kept(void)
{
	return kept.count;
}

static void a_volume_is_made_and_goes(void **state)
{
	struct harness *h = *state;
	struct volume_record r = make(h, "data");
	struct error err = {0};

	assert_int_equal(r.state, VOLUME_READY);
	assert_int_equal(r.size_mb, FLEET_VOLUME_MB);
	assert_true(r.size_is_advisory);
	assert_int_equal(count_kept(), 1);
	assert_done(drop(h, "data", &err));
	assert_int_equal(count_kept(), 0);
	assert_refused(drop(h, "data", &err), ERROR_NOT_FOUND);
}

static void a_provider_without_volumes_refuses_by_name(void **state)
{
	const struct fleet_volume request = {PROJECT, "data", 0};
	struct harness *h = *state;
	struct volume_record r;
	struct error err;

	h->fake.own.abilities &= ~(unsigned)PROVIDER_CAN_VOLUME;
	assert_refused(fleet_volume_create(h->fleet, &h->arena, &request, &r, &err),
	               ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "'fake'"));
}

static void a_volume_that_cannot_be_made_leaves_no_row(void **state)
{
	const struct fleet_volume request = {PROJECT, "data", 0};
	struct harness *h = *state;
	struct volume_record r;
	struct error err;

	run_fails = true;
	assert_refused(fleet_volume_create(h->fleet, &h->arena, &request, &r, &err), ERROR_SYSTEM);
	run_fails = false;
	/* What was left is finished by the next start. */
	harness_restart(h);
	assert_int_equal(make(h, "data").state, VOLUME_READY);
	assert_int_equal(count_kept(), 1);
}

static void names_and_sizes_are_checked(void **state)
{
	static const struct fleet_volume bad[] = {
	        {PROJECT, "", 0}, {PROJECT, "a/b", 0}, {PROJECT, "a", -1}, {PROJECT, "a", 1 << 30}};
	struct harness *h = *state;
	struct volume_record r;
	struct error err;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_refused(fleet_volume_create(h->fleet, &h->arena, &bad[i], &r, &err),
		               ERROR_INVALID);
	assert_int_equal(count_kept(), 0);
}

static void a_sandbox_is_made_with_its_volume(void **state)
{
	struct harness *h = *state;
	struct volume_record volume = make(h, "data");
	struct sandbox_record r = create_on(h, "data");
	struct error err = {0};

	assert_int_equal(last_count, 1);
	assert_string_equal(last_path, "/workspace");
	assert_refused(drop(h, volume.id, &err), ERROR_CONFLICT);
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	assert_done(drop(h, volume.id, &err));
}

static void a_volume_that_somebody_has_fails_the_create_without_a_trace(void **state)
{
	const struct fleet_mount mount = {.volume = "data"};
	const struct fleet_create request = {.project_id = PROJECT,
	                                     .name = "second",
	                                     .internet = -1,
	                                     .wait = true,
	                                     .mounts = &mount,
	                                     .mount_count = 1};
	struct harness *h = *state;
	struct sandbox_record r;
	struct error err;

	(void)make(h, "data");
	(void)create_on(h, "data");
	assert_refused(fleet_create(h->fleet, &h->arena, &request, &r, &err), ERROR_CONFLICT);
	assert_refused(
	        fleet_find(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, "second"}, &r, &err),
	        ERROR_NOT_FOUND);
	assert_int_equal(h->fake.calls[CALL_CREATE], 1);
}

static int detach(struct harness *h, const struct fleet_ref *ref, const char *volume,
                  struct error *err)
{
	return fleet_volume_detach(h->fleet, &h->arena, ref, &(struct fleet_detach){volume, false},
	                           err);
}

/* How many volumes the sandbox has, and in which state the first is. */
static size_t count_mounts(struct harness *h, const char *sandbox_id, enum mount_state *ret)
{
	struct mount_list has;
	struct error err = {0};

	assert_done(store_mounts_of_sandbox(h->store, &h->arena, sandbox_id, &has, &err));
	if (has.count > 0)
		*ret = has.items[0].state;
	return has.count;
}

static void a_volume_comes_into_a_sandbox_that_runs_and_leaves_it(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_with(h, (struct fleet_create){.persistent = true});
	const struct fleet_ref ref = {PROJECT, r.id};
	const struct fleet_mount mount = {.volume = "data", .path = "/data"};
	enum mount_state was = MOUNT_STATE_COUNT;
	struct error err = {0};

	(void)make(h, "data");
	run_fails = true;
	assert_refused(fleet_volume_attach(h->fleet, &h->arena, &ref, &mount, &err), ERROR_SYSTEM);
	/* The undoing failed, too: it is not known whether it is there. */
	assert_int_equal(count_mounts(h, r.id, &was), 1);
	assert_int_equal(was, MOUNT_ATTACHING);
	run_fails = false;
	assert_done(fleet_recover(h->fleet, &err));
	assert_int_equal(count_mounts(h, r.id, &was), 1);
	assert_int_equal(was, MOUNT_ATTACHED);
	assert_int_equal(last_verb, PROVIDER_VOLUME_ATTACH);
	assert_string_equal(last_path, "/data");
	run_fails = true;
	assert_refused(detach(h, &ref, "data", &err), ERROR_SYSTEM);
	assert_int_equal(count_mounts(h, r.id, &was), 1);
	assert_int_equal(was, MOUNT_DETACHING);
	run_fails = false;
	assert_done(detach(h, &ref, NULL, &err));
	assert_int_equal(last_verb, PROVIDER_VOLUME_DETACH);
	assert_int_equal(count_mounts(h, r.id, &was), 0);
}

static void what_was_begun_with_a_sandbox_that_has_stopped_since_is_finished(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_with(h, (struct fleet_create){.persistent = true});
	const struct fleet_ref ref = {PROJECT, r.id};
	const struct fleet_mount mount = {.volume = "data", .path = "/data"};
	enum mount_state was = MOUNT_STATE_COUNT;
	struct mount_move leaving = {.from = MOUNT_ATTACHED, .to = MOUNT_DETACHING};
	struct error err = {0};

	leaving.volume_id = make(h, "data").id;
	leaving.sandbox_id = r.id;
	run_fails = true;
	assert_refused(fleet_volume_attach(h->fleet, &h->arena, &ref, &mount, &err), ERROR_SYSTEM);
	run_fails = false;
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(fleet_recover(h->fleet, &err));
	assert_int_equal(count_mounts(h, r.id, &was), 1);
	assert_int_equal(was, MOUNT_ATTACHED);
	assert_done(store_mount_move(h->store, &leaving, &err));
	assert_refused(store_mount_move(h->store, &leaving, &err), ERROR_CONFLICT);
	assert_done(fleet_recover(h->fleet, &err));
	assert_int_equal(count_mounts(h, r.id, &was), 0);
}

static void a_volume_is_attached_to_a_stopped_sandbox(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r = create_with(h, (struct fleet_create){.persistent = true});
	const struct fleet_ref ref = {PROJECT, r.id};
	const struct fleet_mount mount = {.volume = "data", .path = "/data"};
	struct error err = {0};

	(void)make(h, "data");
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(fleet_volume_attach(h->fleet, &h->arena, &ref, &mount, &err));
	assert_done(fleet_start(h->fleet, &h->arena, &ref, &r, &err));
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	assert_refused(detach(h, &ref, "other", &err), ERROR_NOT_FOUND);
	assert_done(detach(h, &ref, NULL, &err));
	assert_refused(detach(h, &ref, NULL, &err), ERROR_NOT_FOUND);
}

static void a_create_waits_for_the_delete_before_it(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;
	struct error err = {0};

	(void)make(h, "data");
	for (int i = 0; i < 3; i++) {
		r = create_on(h, "data");
		assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
		                         SANDBOX_REASON_USER, &err));
	}
}

/* ---- calls that park ---- */

/* A call on a thread of its own. */
struct caller {
	struct harness *h;
	const char *sandbox_id;
	struct arena arena;
	struct fleet_hold hold;
	pthread_t thread;
	struct error err;
	int result;
};

static void *browse_data(void *context)
{
	struct caller *c = context;

	c->result =
	        fleet_volume_browse(c->h->fleet, &c->arena, &(struct fleet_ref){PROJECT, "data"},
	                            false, &c->hold, &c->err);
	return NULL;
}

static void *detach_data(void *context)
{
	struct caller *c = context;

	c->result = fleet_volume_detach(c->h->fleet, &c->arena,
	                                &(struct fleet_ref){PROJECT, c->sandbox_id},
	                                &(struct fleet_detach){"data", false}, &c->err);
	return NULL;
}

/* Returns when the volume is opened, and stays so until let_browse. */
static void begin_browse(struct caller *c)
{
	fake_gate(&c->h->fake, true);
	assert_int_equal(pthread_create(&c->thread, NULL, browse_data, c), 0);
	fake_wait_at_gate(&c->h->fake);
}

static void end_call(struct caller *c)
{
	pthread_join(c->thread, NULL);
	if (c->result < 0)
		fail_msg("%s", c->err.text);
	arena_done(&c->arena);
}

static void let_browse(struct caller *c)
{
	fake_gate(&c->h->fake, false);
	end_call(c);
}

static int create_parking(struct harness *h, const struct fleet_awaited *awaited,
                          struct sandbox_record *ret, struct error *err)
{
	const struct fleet_mount mount = {.volume = "data"};
	const struct fleet_create request = {.project_id = PROJECT,
	                                     .name = "parking",
	                                     .internet = -1,
	                                     .wait = true,
	                                     .awaited = awaited,
	                                     .mounts = &mount,
	                                     .mount_count = 1};

	return fleet_create(h->fleet, &h->arena, &request, ret, err);
}

/* It fails with what it awaits and leaves no row; returns what it has awaited when it is made again
 * after so long. */
static struct fleet_awaited assert_parked(struct harness *h, const struct fleet_awaited *awaited,
                                          int64_t for_ms)
{
	const struct fleet_ref ref = {PROJECT, "parking"};
	struct sandbox_record r;
	struct error err = {0};
	const char *key;

	assert_int_equal(create_parking(h, awaited, &r, &err), -1);
	if (!err.awaits.key[0])
		fail_msg("the create awaits nothing: %s", err.text);
	key = arena_text(&h->arena, err.awaits.key);
	assert_refused(fleet_find(h->fleet, &h->arena, &ref, &r, &err), ERROR_NOT_FOUND);
	return (struct fleet_awaited){key, for_ms};
}

static void a_create_parks_while_another_call_uses_its_volume(void **state)
{
	struct harness *h = *state;
	struct caller browsing = {.h = h};
	struct fleet_awaited awaited = {NULL, 0};
	struct sandbox_record r;
	struct error err = {0};

	(void)make(h, "data");
	begin_browse(&browsing);
	awaited = assert_parked(h, &awaited, 61000);
	/* A minute is enough. */
	assert_refused(create_parking(h, &awaited, &r, &err), ERROR_TIMEOUT);
	assert_string_equal(err.awaits.key, "");
	awaited.for_ms = 300;
	let_browse(&browsing);
	/* A transfer is under way; it has five seconds. */
	awaited = assert_parked(h, &awaited, 5000);
	assert_done(create_parking(h, &awaited, &r, &err));
	assert_string_equal(fake_has(&h->fake, browsing.hold.id), "nothing");
	assert_string_equal(fake_has(&h->fake, r.id), "running");
	fleet_unhold(&browsing.hold);
	/* Nothing acts on the volume any more. */
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	assert_done(drop(h, "data", &err));
}

static void a_create_parks_while_its_volume_is_detached(void **state)
{
	struct harness *h = *state;
	struct fleet_awaited awaited = {NULL, 0};
	struct caller detaching = {.h = h};
	struct sandbox_record r;
	struct error err = {0};

	(void)make(h, "data");
	detaching.sandbox_id = create_on(h, "data").id;
	/* As long as nothing says that it goes, the conflict stands. */
	assert_refused(create_parking(h, &awaited, &r, &err), ERROR_CONFLICT);
	assert_string_equal(err.awaits.key, "");
	is_detach_shut = true;
	assert_int_equal(pthread_create(&detaching.thread, NULL, detach_data, &detaching), 0);
	pthread_mutex_lock(&kept_mutex);
	while (!is_detaching)
		pthread_cond_wait(&detach_changed, &kept_mutex);
	pthread_mutex_unlock(&kept_mutex);
	awaited = assert_parked(h, &awaited, 300);
	pthread_mutex_lock(&kept_mutex);
	is_detach_shut = false;
	pthread_cond_broadcast(&detach_changed);
	pthread_mutex_unlock(&kept_mutex);
	end_call(&detaching);
	assert_done(create_parking(h, &awaited, &r, &err));
}

static void a_start_parks_while_another_call_uses_its_volume(void **state)
{
	struct harness *h = *state;
	struct sandbox_record r;
	struct caller browsing = {.h = h};
	struct fleet_awaited awaited = {NULL, 0};
	struct fleet_ref ref = {PROJECT, .awaited = &awaited};
	struct error err = {0};

	(void)make(h, "data");
	r = create_on(h, "data");
	ref.id_or_name = r.id;
	assert_done(fleet_stop(h->fleet, &h->arena, &ref, &r, &err));
	begin_browse(&browsing);
	assert_refused(fleet_start(h->fleet, &h->arena, &ref, &r, &err), ERROR_TIMEOUT);
	assert_string_not_equal(err.awaits.key, "");
	assert_int_equal(find(h, r.id).actual, SANDBOX_STOPPED);
	let_browse(&browsing);
	fleet_unhold(&browsing.hold);
	awaited = (struct fleet_awaited){arena_text(&h->arena, err.awaits.key), 300};
	err = (struct error){0};
	assert_done(fleet_start(h->fleet, &h->arena, &ref, &r, &err));
	assert_string_equal(fake_has(&h->fake, browsing.hold.id), "nothing");
}

static void wait_for_idle_workers(struct harness *h)
{
	int64_t until = deadline_after(30000);
	struct worker_load load;

	do {
		usleep(10000);
		load = worker_load_get(h->workers);
	} while (load.running[WORKER_SLOW] + load.waiting[WORKER_SLOW] > 0 &&
	         clock_monotonic_ms() < until);
	assert_int_equal(load.running[WORKER_SLOW] + load.waiting[WORKER_SLOW], 0);
}

static void a_create_that_was_answered_waits_for_its_volume_without_a_thread(void **state)
{
	const struct fleet_mount mount = {.volume = "data"};
	const struct fleet_create request = {
	        .project_id = PROJECT, .internet = -1, .mounts = &mount, .mount_count = 1};
	struct harness *h = *state;
	struct caller browsing = {.h = h};
	struct sandbox_record r;
	struct error err = {0};

	(void)make(h, "data");
	begin_browse(&browsing);
	assert_done(fleet_create(h->fleet, &h->arena, &request, &r, &err));
	wait_for_idle_workers(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_PENDING);
	fleet_tick(h->fleet);
	wait_for_idle_workers(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_PENDING);
	let_browse(&browsing);
	fleet_unhold(&browsing.hold);
	fleet_tick(h->fleet);
	wait_for_idle_workers(h);
	assert_int_equal(find(h, r.id).actual, SANDBOX_STARTED);
	assert_string_equal(fake_has(&h->fake, browsing.hold.id), "nothing");
}

/* ---- browsing ---- */

static void browsing_makes_one_sandbox_that_is_nobodys(void **state)
{
	struct harness *h = *state;
	struct fleet_hold one, two;
	struct sandbox_list rows;
	struct sandbox_filter filter = {.state = -1, .limit = 10};
	struct error err = {0};

	(void)make(h, "data");
	assert_done(browse(h, "data", true, &one, &err));
	assert_done(browse(h, "data", false, &two, &err));
	assert_string_equal(one.id, two.id);
	assert_string_equal(fake_has(&h->fake, one.id), "running");
	assert_done(store_sandbox_list(h->store, &h->arena, &filter, &rows, &err));
	assert_int_equal(rows.count, 0);
	fleet_unhold(&one);
	fleet_unhold(&two);
	/* A sandbox that wants the volume ends it. */
	(void)create_on(h, "data");
	assert_string_equal(fake_has(&h->fake, two.id), "nothing");
	assert_refused(browse(h, "data", false, &one, &err), ERROR_CONFLICT);
}

static void what_browses_goes_with_the_server(void **state)
{
	struct harness *h = *state;
	struct fleet_hold hold;
	struct error err = {0};

	(void)make(h, "data");
	assert_done(browse(h, "data", false, &hold, &err));
	assert_string_equal(fake_has(&h->fake, hold.id), "running");
	fleet_unhold(&hold);
	fleet_leave(h->fleet);
	assert_string_equal(fake_has(&h->fake, hold.id), "nothing");
	/* And when the server had no time for it, the next one finds an orphan. */
	assert_done(browse(h, "data", false, &hold, &err));
	fleet_unhold(&hold);
	harness_restart(h);
	assert_string_equal(fake_has(&h->fake, hold.id), "nothing");
}

static void one_that_browses_and_ends_is_made_anew(void **state)
{
	struct harness *h = *state;
	struct fleet_hold one, two;
	struct error err = {0};

	(void)make(h, "data");
	assert_done(browse(h, "data", false, &one, &err));
	fleet_unhold(&one);
	fake_set(&h->fake, one.id, NULL);
	fleet_on_ended(h->fleet, one.id, &(struct provider_end){SANDBOX_REASON_OOM, UINT64_MAX});
	assert_done(browse(h, "data", false, &two, &err));
	assert_string_not_equal(one.id, two.id);
	fleet_unhold(&two);
	fleet_leave(h->fleet);
}

static void a_persistent_home_is_found_again(void **state)
{
	const struct fleet_create request = {.persistent_home = "ann", .persistent_home_mb = 2048};
	struct harness *h = *state;
	struct volume_record volume;
	struct sandbox_record r = create_with(h, request);
	struct error err = {0};

	assert_string_equal(last_path, "/home/user");
	assert_done(store_volume_find(h->store, &h->arena, PROJECT, "home-ann", &volume, &err));
	assert_int_equal(volume.size_mb, 2048);
	assert_done(fleet_delete(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, r.id},
	                         SANDBOX_REASON_USER, &err));
	(void)create_with(h, request);
	assert_int_equal(count_kept(), 1);
}

static void a_half_made_volume_goes_at_the_next_start(void **state)
{
	struct harness *h = *state;
	struct volume_record half = {.id = "vvvvvvvvvvvvvvvvvvvv",
	                             .project_id = PROJECT,
	                             .name = "half",
	                             .provider = "fake",
	                             .state = VOLUME_MAKING,
	                             .created_at = 1,
	                             .updated_at = 1};
	struct error err = {0};

	assert_done(store_volume_insert(h->store, &half, 10, &err));
	map_put(&kept, half.id, &kept);
	harness_restart(h);
	assert_int_equal(count_kept(), 0);
	assert_refused(store_volume_find(h->store, &h->arena, NULL, half.id, &half, &err),
	               ERROR_NOT_FOUND);
}

static int grow(struct harness *h, const char *name, int64_t size_mb, struct volume_record *ret,
                struct error *err)
{
	return fleet_volume_grow(h->fleet, &h->arena, &(struct fleet_ref){PROJECT, name}, size_mb,
	                         ret, err);
}

static void a_volume_without_a_limit_does_not_grow(void **state)
{
	struct error err = {0};
	struct volume_record r;

	make(*state, "data");
	assert_int_equal(last_size_mb, 0);
	assert_refused(grow(*state, "data", 1 << 20, &r, &err), ERROR_UNSUPPORTED);
	assert_refused(grow(*state, "data", 0, &r, &err), ERROR_INVALID);
	assert_refused(grow(*state, "nothing", 1, &r, &err), ERROR_NOT_FOUND);
}

static void a_volume_grows_when_the_provider_has_made_it_larger(void **state)
{
	const struct fleet_volume request = {PROJECT, "data", 100};
	struct harness *h = *state;
	struct sandbox_record sandbox;
	struct error err = {0};
	struct volume_record r;

	has_limits = true;
	assert_done(fleet_volume_create(h->fleet, &h->arena, &request, &r, &err));
	assert_int_equal(last_size_mb, 100);
	assert_refused(grow(h, "data", 99, &r, &err), ERROR_INVALID);
	run_fails = true;
	assert_refused(grow(h, "data", 200, &r, &err), ERROR_SYSTEM);
	run_fails = false;
	assert_done(grow(h, "data", 101, &r, &err));
	assert_int_equal(last_size_mb, 101);
	assert_int_equal(r.size_mb, 101);
	sandbox = create_on(h, "data");
	assert_refused(grow(h, "data", 200, &r, &err), ERROR_CONFLICT);
	assert_non_null(strstr(err.text, sandbox.name));
	assert_int_equal(last_size_mb, 101);
}

#define VOLUME_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	return RUN_EACH(
	        VOLUME_TEST(a_volume_is_made_and_goes),
	        VOLUME_TEST(a_provider_without_volumes_refuses_by_name),
	        VOLUME_TEST(a_volume_that_cannot_be_made_leaves_no_row),
	        VOLUME_TEST(a_volume_without_a_limit_does_not_grow),
	        VOLUME_TEST(a_volume_grows_when_the_provider_has_made_it_larger),
	        VOLUME_TEST(names_and_sizes_are_checked),
	        VOLUME_TEST(a_sandbox_is_made_with_its_volume),
	        VOLUME_TEST(a_volume_that_somebody_has_fails_the_create_without_a_trace),
	        VOLUME_TEST(a_volume_comes_into_a_sandbox_that_runs_and_leaves_it),
	        VOLUME_TEST(what_was_begun_with_a_sandbox_that_has_stopped_since_is_finished),
	        VOLUME_TEST(a_volume_is_attached_to_a_stopped_sandbox),
	        VOLUME_TEST(a_create_waits_for_the_delete_before_it),
	        VOLUME_TEST(a_create_parks_while_another_call_uses_its_volume),
	        VOLUME_TEST(a_create_parks_while_its_volume_is_detached),
	        VOLUME_TEST(a_start_parks_while_another_call_uses_its_volume),
	        VOLUME_TEST(a_create_that_was_answered_waits_for_its_volume_without_a_thread),
	        VOLUME_TEST(browsing_makes_one_sandbox_that_is_nobodys),
	        VOLUME_TEST(what_browses_goes_with_the_server),
	        VOLUME_TEST(one_that_browses_and_ends_is_made_anew),
	        VOLUME_TEST(a_persistent_home_is_found_again),
	        VOLUME_TEST(a_half_made_volume_goes_at_the_next_start));
}
