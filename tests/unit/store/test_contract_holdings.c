/* SPDX-License-Identifier: Apache-2.0 */
#include "store/backups.h"
#include "store/figures.h"
#include "store/holdings.h"
#include "store/snapshots.h"
#include "store/usage.h"
#include "store/volumes.h"

#include "each_store.h"
#include "store/driver.h"
#include "store/templates.h"

#define NODE "n1"
#define BOX "bbbbbbbbbbbbbbbbbbbb"
#define VOLUME "vvvvvvvvvvvvvvvvvvvv"
#define SNAPSHOT "ssssssssssssssssssss"
#define BACKUP "aaaaaaaaaaaaaaaaaaaa"
#define HOUR USAGE_HOUR_MS

static void add_volume(struct store *s)
{
	const struct volume_record volume = {.id = VOLUME,
	                                     .project_id = PROJECT,
	                                     .name = "data",
	                                     .provider = "null",
	                                     .node = NODE,
	                                     .size_mb = 64,
	                                     .state = VOLUME_READY,
	                                     .created_at = NOW};
	struct error err = {0};

	assert_done(store_volume_insert(s, &volume, 100, &err));
}

static void add_snapshot(struct store *s, const char *id, const char *sandbox_id,
                         enum snapshot_kind kind)
{
	struct snapshot_record r = {.id = id,
	                            .project_id = PROJECT,
	                            .name = id,
	                            .sandbox_id = sandbox_id,
	                            .node = NODE,
	                            .kind = kind,
	                            .state = SNAPSHOT_READY,
	                            .created_at = NOW};
	struct error err = {0};

	assert_done(store_snapshot_insert(s, &r, 100, &err));
}

static void add_backup(struct store *s, const char *holder_id)
{
	const struct backup_record r = {.id = BACKUP,
	                                .project_id = PROJECT,
	                                .name = "kept",
	                                .holder_id = holder_id,
	                                .node = NODE,
	                                .state = BACKUP_READY,
	                                .size_bytes = 4711,
	                                .created_at = NOW};
	struct error err = {0};

	assert_done(store_backup_insert(s, &r, 100, &err));
}

/* Created at NOW, started a second later. */
static void add_box(struct store *s, bool persistent)
{
	struct sandbox_record r = sample_sandbox(BOX, "box");
	struct error err = {0};

	r.node = NODE;
	r.key_id = "maker";
	r.persistent = persistent;
	r.disk_is_advisory = true;
	assert_done(store_sandbox_insert(s, &r, 0, &err));
}

static void move(struct store *s, enum sandbox_state from, enum sandbox_state to, int64_t at)
{
	struct sandbox_move m = sample_move(BOX, from, to);
	struct error err = {0};

	m.now = at;
	m.disk_is_advisory = true;
	assert_done(store_sandbox_move(s, &m, &err));
}

static void start(struct store *s)
{
	move(s, SANDBOX_PENDING, SANDBOX_CREATING, NOW);
	move(s, SANDBOX_CREATING, SANDBOX_STARTED, NOW + 1000);
}

static struct holding_list due(struct store *s, struct arena *a, int64_t before)
{
	const struct holding_page page = {
	        .node = NODE, .before = before, .after = "", .limit = 100};
	struct holding_list list;
	struct error err = {0};

	assert_done(store_holding_list(s, a, &page, &list, &err));
	return list;
}

static void each_kind_says_whose_it_is(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct holding_list list;

	add_volume(*state);
	add_snapshot(*state, SNAPSHOT, BOX, SNAPSHOT_TAKEN);
	add_snapshot(*state, "llllllllllllllllllll", BOX, SNAPSHOT_LAYER);
	add_backup(*state, BOX);
	list = due(*state, &a, NOW);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.items[0].id, BACKUP);
	assert_int_equal(list.items[0].reason, USAGE_BACKUP);
	assert_string_equal(list.items[0].sandbox_id, BOX);
	assert_int_equal(list.items[0].bytes, 4711);
	assert_int_equal(list.items[1].reason, USAGE_SNAPSHOT);
	assert_string_equal(list.items[1].sandbox_id, BOX);
	assert_int_equal(list.items[1].bytes, 0);
	assert_false(list.items[1].changes);
	assert_string_equal(list.items[2].id, VOLUME);
	assert_int_equal(list.items[2].reason, USAGE_VOLUME);
	assert_string_equal(list.items[2].sandbox_id, VOLUME);
	assert_true(list.items[2].changes);
	assert_int_equal(list.items[2].since, NOW);
	assert_int_equal(due(*state, &a, NOW - 1).count, 0);
}

static void what_is_nobodys_is_its_own(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct holding_list list;

	add_snapshot(*state, SNAPSHOT, "", SNAPSHOT_TAKEN);
	add_backup(*state, "");
	list = due(*state, &a, NOW);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].sandbox_id, BACKUP);
	assert_string_equal(list.items[1].sandbox_id, SNAPSHOT);
}

static void another_server_has_its_own(void **state)
{
	const struct holding_page page = {
	        .node = "n2", .before = NOW + HOUR, .after = "", .limit = 100};
	AUTO(arena_done) struct arena a = {0};
	struct holding_list list;
	struct error err = {0};

	add_volume(*state);
	assert_done(store_holding_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 0);
}

static void pages_go_on_where_the_last_one_ended(void **state)
{
	struct holding_page page = {.node = NODE, .before = NOW, .after = "", .limit = 1};
	AUTO(arena_done) struct arena a = {0};
	struct holding_list list;
	struct error err = {0};

	add_volume(*state);
	add_backup(*state, "");
	assert_done(store_holding_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 1);
	page.after = list.items[0].id;
	assert_done(store_holding_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, VOLUME);
}

static void a_sandbox_is_among_them_while_it_rests(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct holding_list list;

	add_box(*state, false);
	start(*state);
	assert_int_equal(due(*state, &a, NOW + HOUR).count, 0);
	move(*state, SANDBOX_STARTED, SANDBOX_PAUSED, NOW + HOUR);
	assert_int_equal(due(*state, &a, NOW + HOUR - 1).count, 0);
	list = due(*state, &a, NOW + HOUR);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].reason, USAGE_STORAGE);
	assert_string_equal(list.items[0].key_id, "maker");
	assert_int_equal(list.items[0].since, NOW + HOUR);
	assert_false(list.items[0].changes);
}

static void a_persistent_one_always_is(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct holding_list list;

	add_box(*state, true);
	start(*state);
	list = due(*state, &a, NOW + HOUR);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].since, NOW);
	assert_true(list.items[0].changes);
}

static struct usage_record sample_row(void)
{
	return (struct usage_record){.id = "u",
	                             .project_id = PROJECT,
	                             .key_id = "",
	                             .sandbox_id = VOLUME,
	                             .run = "",
	                             .reason = USAGE_VOLUME,
	                             .hour = NOW / HOUR * HOUR,
	                             .storage_mib_s = 3600,
	                             .usd_micro = 5,
	                             .started_at = NOW,
	                             .ended_at = NOW + HOUR};
}

static void what_is_metered_is_metered_once(void **state)
{
	const struct usage_record row = sample_row();
	struct holding_usage usage = {.bytes = 7,
	                              .measured_at = NOW + 1,
	                              .metered_at = NOW + HOUR,
	                              .unbilled_nano = 3,
	                              .rows = &row,
	                              .row_count = 1};
	AUTO(arena_done) struct arena a = {0};
	struct balance_record balance;
	struct holding_list list;
	struct error err = {0};

	add_volume(*state);
	list = due(*state, &a, NOW);
	usage.seen = &list.items[0];
	assert_done(store_holding_write(*state, &usage, &err));
	/* By who had seen it as it was. */
	assert_done(store_holding_write(*state, &usage, &err));
	assert_done(store_balance_find(*state, &a, PROJECT, &balance, &err));
	assert_int_equal(balance.spent_micro, 5);
	assert_int_equal(due(*state, &a, NOW + HOUR - 1).count, 0);
	list = due(*state, &a, NOW + HOUR);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].bytes, 7);
	assert_int_equal(list.items[0].measured_at, NOW + 1);
	assert_int_equal(list.items[0].metered_at, NOW + HOUR);
	assert_int_equal(list.items[0].unbilled_nano, 3);
	usage.seen = &list.items[0];
	usage.metered_at = NOW + 2 * HOUR;
	assert_done(store_holding_write(*state, &usage, &err));
	assert_done(store_balance_find(*state, &a, PROJECT, &balance, &err));
	assert_int_equal(balance.spent_micro, 10);
}

static void what_is_gone_is_forgotten(void **state)
{
	const struct usage_record row = sample_row();
	struct holding_usage usage = {.metered_at = NOW + HOUR, .rows = &row};
	struct volume_move to_deleting = {
	        .id = VOLUME, .from = VOLUME_READY, .to = VOLUME_DELETING};
	AUTO(arena_done) struct arena a = {0};
	struct volume_record volume;
	struct holding_list list;
	struct error err = {0};

	add_volume(*state);
	list = due(*state, &a, NOW);
	usage.seen = &list.items[0];
	assert_done(store_holding_write(*state, &usage, &err));
	assert_done(store_holding_tidy(*state, &err));
	assert_int_equal(due(*state, &a, NOW).count, 0);
	assert_done(store_volume_move(*state, &a, &to_deleting, &volume, &err));
	assert_done(store_volume_remove(*state, VOLUME, &err));
	assert_done(store_holding_tidy(*state, &err));
	/* The same id again is met for the first time. */
	add_volume(*state);
	list = due(*state, &a, NOW);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].metered_at, 0);
}

/* What was metered until then is its backup's, from then on. */
static void files_that_come_back_from_an_archive_cost_from_then_on(void **state)
{
	const int64_t stopped = NOW + HOUR, back = NOW + 720 * HOUR;
	struct holding_usage usage = {.bytes = 7, .measured_at = NOW, .metered_at = stopped};
	AUTO(arena_done) struct arena a = {0};
	struct meter_record meter;
	struct holding_list list;
	struct error err = {0};

	add_box(*state, true);
	start(*state);
	list = due(*state, &a, stopped);
	usage.seen = &list.items[0];
	assert_done(store_holding_write(*state, &usage, &err));
	move(*state, SANDBOX_STARTED, SANDBOX_STOPPED, stopped);
	move(*state, SANDBOX_STOPPED, SANDBOX_ARCHIVED, stopped);
	assert_int_equal(due(*state, &a, back).count, 0);
	move(*state, SANDBOX_ARCHIVED, SANDBOX_CREATING, back);
	move(*state, SANDBOX_CREATING, SANDBOX_STARTED, back + 1000);
	assert_int_equal(due(*state, &a, back - 1).count, 0);
	list = due(*state, &a, back);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].metered_at, back);
	assert_int_equal(list.items[0].bytes, 7);
	assert_done(store_meter_find(*state, &a, BOX, &meter, &err));
	assert_int_equal(meter.stored_at, back);
	assert_refused(store_meter_find(*state, &a, "nosuch", &meter, &err), ERROR_NOT_FOUND);
}

static void one_of_them_can_be_asked_for(void **state)
{
	struct holding_page page = {
	        .node = NODE, .before = NOW, .after = "", .only = VOLUME, .limit = 9};
	AUTO(arena_done) struct arena a = {0};
	struct holding_list list;
	struct error err = {0};

	add_volume(*state);
	add_backup(*state, "");
	assert_done(store_holding_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, VOLUME);
	page.only = "nosuch";
	assert_done(store_holding_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 0);
}

static struct project_storage sum(struct store *s, const char *without, int64_t before)
{
	const struct storage_look look = {PROJECT, without, before};
	struct project_storage found = {-1, -1, -1, -1};
	struct error err = {0};

	assert_done(store_project_storage(s, &look, &found, &err));
	return found;
}

static void add_template(struct store *s, const char *id, enum template_state state, int64_t bytes,
                         int64_t at)
{
	const struct template_record r = {.id = id,
	                                  .project_id = PROJECT,
	                                  .name = id,
	                                  .folder = "shared",
	                                  .node = NODE,
	                                  .state = state,
	                                  .size_bytes = bytes,
	                                  .created_at = at};
	struct error err = {0};

	assert_done(store_template_insert(s, &r, &err));
}

static void what_a_project_keeps_is_summed(void **state)
{
	struct project_storage found;
	struct error err = {0};

	found = sum(*state, "", INT64_MAX);
	assert_int_equal(found.templates + found.snapshots + found.backups + found.volumes, 0);
	add_volume(*state);
	add_snapshot(*state, SNAPSHOT, BOX, SNAPSHOT_TAKEN);
	add_snapshot(*state, "llllllllllllllllllll", BOX, SNAPSHOT_LAYER);
	add_backup(*state, "");
	/* Two templates of one folder have its files once. */
	add_template(*state, "t1", TEMPLATE_READY, 1000, NOW);
	add_template(*state, "t2", TEMPLATE_READY, 900, NOW);
	assert_done(store_holding_expect(*state, VOLUME, 70, NOW, &err));
	assert_done(store_holding_expect(*state, SNAPSHOT, 50, NOW, &err));
	assert_done(store_holding_expect(*state, SNAPSHOT, 60, NOW, &err));
	assert_done(store_holding_expect(*state, "llllllllllllllllllll", 9999, NOW, &err));
	found = sum(*state, "", INT64_MAX);
	assert_int_equal(found.templates, 1000);
	assert_int_equal(found.snapshots, 50);
	assert_int_equal(found.backups, 4711);
	assert_int_equal(found.volumes, 70);
	assert_int_equal(sum(*state, SNAPSHOT, INT64_MAX).snapshots, 0);
	assert_int_equal(sum(*state, BACKUP, INT64_MAX).backups, 0);
}

static void what_is_being_made_counts_unless_it_began_later(void **state)
{
	add_template(*state, "t1", TEMPLATE_BUILDING, 1000, NOW);
	assert_int_equal(sum(*state, "", NOW - 1).templates, 0);
	assert_int_equal(sum(*state, "", NOW).templates, 1000);
	assert_int_equal(sum(*state, "t1", INT64_MAX).templates, 0);
}

static int64_t figure(struct store *s, enum store_figure kind, const char *project, const char *id)
{
	AUTO(arena_done) struct arena a = {0};
	struct figure_list list;
	struct error err = {0};

	assert_done(store_figures(s, &a, kind, project, &list, &err));
	return figure_of(&list, id, -1);
}

static void figures_of_lists_are_those_of_the_project(void **state)
{
	struct store *s = *state;
	const struct sandbox_record box = sample_sandbox(BOX, "box");
	struct error err = {0};

	add_volume(s);
	add_snapshot(s, SNAPSHOT, BOX, SNAPSHOT_TAKEN);
	assert_int_equal(figure(s, FIGURE_VOLUME_BYTES, PROJECT, VOLUME), -1);
	assert_int_equal(figure(s, FIGURE_TEMPLATE_SANDBOXES, PROJECT, box.template_id), -1);
	assert_done(store_holding_expect(s, VOLUME, 1000, NOW, &err));
	assert_done(store_holding_expect(s, SNAPSHOT, 2000, NOW, &err));
	add_box(s, false);
	assert_int_equal(figure(s, FIGURE_VOLUME_BYTES, PROJECT, VOLUME), 1000);
	assert_int_equal(figure(s, FIGURE_SNAPSHOT_BYTES, PROJECT, SNAPSHOT), 2000);
	assert_int_equal(figure(s, FIGURE_TEMPLATE_SANDBOXES, PROJECT, box.template_id), 1);
	assert_int_equal(figure(s, FIGURE_SNAPSHOT_SANDBOXES, PROJECT, SNAPSHOT), -1);
	for (enum store_figure kind = 0; kind < FIGURE_COUNT; kind++)
		assert_int_equal(figure(s, kind, "other", VOLUME), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        EACH(each_kind_says_whose_it_is),
	        EACH(what_is_nobodys_is_its_own),
	        EACH(another_server_has_its_own),
	        EACH(pages_go_on_where_the_last_one_ended),
	        EACH(a_sandbox_is_among_them_while_it_rests),
	        EACH(a_persistent_one_always_is),
	        EACH(what_is_metered_is_metered_once),
	        EACH(what_is_gone_is_forgotten),
	        EACH(files_that_come_back_from_an_archive_cost_from_then_on),
	        EACH(one_of_them_can_be_asked_for),
	        EACH(what_a_project_keeps_is_summed),
	        EACH(what_is_being_made_counts_unless_it_began_later),
	        EACH(figures_of_lists_are_those_of_the_project),
	};

	return each_store_run(tests, COUNT_OF(tests));
}
