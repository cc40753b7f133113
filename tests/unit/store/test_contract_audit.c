/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of the audit in each database: it never forks, and rows are read as they were hashed.
 */
#include "each_store.h"

#include <pthread.h>

#include "store/audit.h"
#include "store/changes.h"
#include "store/keys.h"

#define THREADS 4
#define BATCHES 6
#define BATCH 5

static struct audit_row sample(const char *id, const char *action)
{
	return (struct audit_row){.at = NOW,
	                          .id = id,
	                          .node = "node",
	                          .version = "1",
	                          .project_id = PROJECT,
	                          .user_id = "ann",
	                          .key_id = "key",
	                          .via = "key",
	                          .address = "127.0.0.1",
	                          .user_agent = "é",
	                          .action = action,
	                          .method = "POST",
	                          .path = "/",
	                          .target_kind = "box",
	                          .target_id = "id",
	                          .conversation = "",
	                          .result = "ok",
	                          .status = 200,
	                          .before_json = "",
	                          .after_json = "{\"a\":\"b\"}",
	                          .request_id = "r"};
}

static struct audit_list list_of(struct store *s, struct arena *a, struct audit_page page)
{
	struct error err = {0};
	struct audit_list list;

	if (page.limit == 0)
		page.limit = 1000;
	assert_done(store_audit_list(s, a, &page, &list, &err));
	return list;
}

static void append(struct store *s, struct audit_row *rows, size_t count, bool may_exist)
{
	AUTO(arena_done) struct arena a = {0};
	const struct audit_batch batch = {rows, count, may_exist};
	struct audit_head head;
	struct error err = {0};

	assert_done(store_audit_append(s, &batch, &head, &a, &err));
}

static void assert_chain(struct store *s, size_t count)
{
	AUTO(arena_done) struct arena a = {0};
	struct audit_list list = list_of(s, &a, (struct audit_page){0});
	unsigned char hash[AUDIT_HASH_SIZE] = {0}, digest[AUDIT_HASH_SIZE];
	struct audit_head head;
	struct error err = {0};

	assert_int_equal(list.count, count);
	for (size_t i = 0; i < list.count; i++) {
		AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);

		assert_int_equal(list.items[i].row.sequence, i + 1);
		audit_row_write(&text, &list.items[i].row);
		audit_digest(buf_span(&text), digest);
		audit_hash((int64_t)i + 1, hash, digest, hash);
		assert_memory_equal(hash, list.items[i].hash, AUDIT_HASH_SIZE);
	}
	assert_done(store_audit_head(s, &a, &head, &err));
	assert_int_equal(head.sequence, count);
	assert_memory_equal(head.hash, hash, AUDIT_HASH_SIZE);
}

static void rows_are_read_as_they_were_hashed(void **state)
{
	struct audit_row rows[] = {sample("a", "keys.create"), sample("b", "keys.revoke")};

	append(*state, rows, 2, false);
	assert_chain(*state, 2);
}

static void a_known_event_is_left_out(void **state)
{
	struct audit_row rows[] = {sample("a", "x"), sample("b", "x"), sample("c", "x")};

	append(*state, rows, 2, false);
	append(*state, rows, 3, true);
	append(*state, rows, 3, true);
	assert_chain(*state, 3);
}

static void an_event_cannot_be_there_twice(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct audit_row rows[] = {sample("a", "x"), sample("a", "x")};
	const struct audit_batch batch = {rows, 2, false};
	struct audit_head head;
	struct error err = {0};

	assert_int_equal(store_audit_append(*state, &batch, &head, &a, &err), -1);
	assert_chain(*state, 0);
}

struct appender {
	struct store *store;
	unsigned number;
};

static void *append_batches(void *context)
{
	const struct appender *w = context;

	for (unsigned i = 0; i < BATCHES; i++) {
		char ids[BATCH][32];
		struct audit_row rows[BATCH];

		for (unsigned j = 0; j < BATCH; j++) {
			(void)snprintf(ids[j], sizeof(ids[j]), "%u-%u-%u", w->number, i, j);
			rows[j] = sample(ids[j], "x");
		}
		append(w->store, rows, BATCH, false);
	}
	return NULL;
}

/* As several servers do with one PostgreSQL. */
static void many_writers_make_one_chain(void **state)
{
	struct appender workers[THREADS];
	pthread_t threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct appender){*state, i};
		assert_int_equal(pthread_create(&threads[i], NULL, append_batches, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_chain(*state, (size_t)THREADS * BATCHES * BATCH);
}

static void rows_are_filtered_and_come_in_pages(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct audit_row rows[] = {sample("a", "keys.create"), sample("b", "keys.delete"),
	                           sample("c", "projects.update")};
	struct audit_page page = {.filter = {.pattern = "keys.*"}};

	rows[1].project_id = "other";
	rows[1].user_id = "bob";
	rows[2].at = NOW + 1000;
	rows[2].result = "refused";
	append(*state, rows, 3, false);
	assert_int_equal(list_of(*state, &a, page).count, 2);
	page.filter = (struct audit_filter){.pattern = "keys.create"};
	assert_int_equal(list_of(*state, &a, page).count, 1);
	page.filter = (struct audit_filter){.project_id = "other"};
	assert_int_equal(list_of(*state, &a, page).count, 1);
	page.filter = (struct audit_filter){.user_id = "bob"};
	assert_int_equal(list_of(*state, &a, page).count, 1);
	page.filter = (struct audit_filter){.result = "refused"};
	assert_int_equal(list_of(*state, &a, page).items[0].row.sequence, 3);
	page.filter = (struct audit_filter){.since = NOW + 1};
	assert_int_equal(list_of(*state, &a, page).count, 1);
	page.filter = (struct audit_filter){.until = NOW + 1};
	assert_int_equal(list_of(*state, &a, page).count, 2);
	page.filter = (struct audit_filter){.organization_id = "default"};
	assert_int_equal(list_of(*state, &a, page).count, 2);
	page = (struct audit_page){.limit = 1, .newest = true};
	assert_int_equal(list_of(*state, &a, page).items[0].row.sequence, 3);
	page.before = 3;
	assert_int_equal(list_of(*state, &a, page).items[0].row.sequence, 2);
	page = (struct audit_page){.limit = 1, .after = 1};
	assert_int_equal(list_of(*state, &a, page).items[0].row.sequence, 2);
}

static void add_checkpoint(struct store *s, int64_t sequence)
{
	const struct audit_checkpoint_record c = {
	        .sequence = sequence, .at = NOW, .signature = "00"};
	struct error err = {0};

	assert_done(store_audit_checkpoint_add(s, &c, &err));
}

static void old_rows_are_dropped_up_to_a_checkpoint(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct audit_row rows[] = {sample("a", "x"), sample("b", "x"), sample("c", "x"),
	                           sample("d", "x")};
	const struct audit_retention keep = {
	        .before = NOW + 5, .count_max = 1000, .told = sample("told", "audit.truncate")};
	struct audit_checkpoint_record c;
	struct audit_purged purged;
	struct audit_head head;
	struct error err = {0};
	bool found;

	rows[3].at = NOW + 10;
	append(*state, rows, 4, false);
	assert_done(store_audit_purge(*state, &keep, &purged, &err));
	assert_int_equal(purged.to, 0);
	assert_int_equal(list_of(*state, &a, (struct audit_page){0}).count, 4);
	add_checkpoint(*state, 1);
	add_checkpoint(*state, 2);
	add_checkpoint(*state, 4);
	assert_done(store_audit_purge(*state, &keep, &purged, &err));
	assert_int_equal(purged.from, 1);
	assert_int_equal(purged.to, 2);
	assert_false(purged.more);
	assert_int_equal(list_of(*state, &a, (struct audit_page){0}).items[0].row.sequence, 3);
	assert_done(store_audit_head(*state, &a, &head, &err));
	assert_int_equal(head.base, 2);
	assert_done(store_audit_checkpoint_before(*state, &a, 3, &c, &found, &err));
	assert_true(found);
	assert_int_equal(c.sequence, 2);
	assert_done(store_audit_checkpoint_before(*state, &a, 2, &c, &found, &err));
	assert_false(found);
	assert_done(store_audit_purge(*state, &keep, &purged, &err));
	assert_int_equal(purged.to, 0);
	append(*state, &(struct audit_row){0}, 0, false);
	assert_done(store_audit_head(*state, &a, &head, &err));
	assert_int_equal(head.sequence, 5);
	{
		struct audit_list rest = list_of(*state, &a, (struct audit_page){0});

		assert_int_equal(rest.count, 3);
		assert_string_equal(rest.items[2].row.action, "audit.truncate");
		assert_string_equal(rest.items[2].row.after_json, "{\"from\":1,\"to\":2}");
	}
}

static int set_name(struct project_record *r, const void *context, UNUSED struct error *err)
{
	r->name = context;
	return 0;
}

static void a_changed_row_is_collected_before_and_after(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct store_changes changes = STORE_CHANGES;
	struct project_edit edit = {PROJECT, set_name, "other \" name"};
	struct project_record p;
	struct error err = {0};

	store_changes_collect(&changes);
	assert_done(store_project_edit(*state, &a, &edit, &p, &err));
	store_changes_collect(NULL);
	assert_non_null(strstr(buf_text(&changes.after), "\"name\":\"other \\\" name\""));
	assert_non_null(strstr(buf_text(&changes.before), "{\"name\":\""));
	assert_null(strstr(buf_text(&changes.before), "cpu"));
	assert_int_equal(changes.count, 1);
	edit.context = "third";
	assert_done(store_project_edit(*state, &a, &edit, &p, &err));
	assert_int_equal(changes.count, 1);
	store_changes_done(&changes);
}

static void a_change_that_fails_is_not_collected(void **state)
{
	struct store_changes changes = STORE_CHANGES;
	struct project_record p = sample_project();
	struct error err = {0};

	store_changes_collect(&changes);
	assert_int_equal(store_project_insert(*state, &p, &err), -1);
	store_changes_collect(NULL);
	assert_int_equal(changes.before.size + changes.after.size, 0);
	store_changes_done(&changes);
}

static const struct CMUnitTest tests[] = {
        EACH(rows_are_read_as_they_were_hashed),
        EACH(a_known_event_is_left_out),
        EACH(an_event_cannot_be_there_twice),
        EACH(many_writers_make_one_chain),
        EACH(rows_are_filtered_and_come_in_pages),
        EACH(old_rows_are_dropped_up_to_a_checkpoint),
        EACH(a_changed_row_is_collected_before_and_after),
        EACH(a_change_that_fails_is_not_collected),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
