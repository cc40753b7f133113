/* SPDX-License-Identifier: Apache-2.0 */
#include "each_store.h"

#include <pthread.h>

#include "store/events.h"
#include "store/channels.h"

static struct job_record sample(const char *id)
{
	return (struct job_record){.id = id,
	                           .project_id = PROJECT,
	                           .sandbox_id = "sandbox",
	                           .conversation = "chat",
	                           .origin_json = "{}",
	                           .command = "make",
	                           .exit_code = -1,
	                           .token_hash = {1, 2, 3},
	                           .token_expires_at = NOW + 9,
	                           .keep_root = "/work",
	                           .keep_folder = "out",
	                           .keep_user = "coder",
	                           .run = "night",
	                           .created_at = NOW};
}

static const struct job_end done = {.state = JOB_COMPLETED,
                                    .cause = "exit",
                                    .stdout_json = "\"out\\u0000\"",
                                    .stderr_json = "\"\"",
                                    .stdout_bytes = 4,
                                    .ended_at = NOW + 5};

static void insert(struct store *s, const char *id, enum job_channel channel)
{
	struct error err = {0};
	struct job_record r = sample(id);

	r.channel = channel;
	assert_done(store_job_insert(s, &r, 10, &err));
}

static size_t count_events(struct store *s, const char *kind)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct event_list list;

	assert_done(store_event_list(s, &a, &(struct event_page){.pattern = kind, .limit = 100},
	                             &list, &err));
	return list.count;
}

static void a_job_is_found_by_its_own_conversation_alone(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_ref ref = {PROJECT, "chat", "job"};
	struct job_record found;

	insert(*state, "job", JOB_CHANNEL_STREAM);
	assert_done(store_job_find(*state, &a, &ref, &found, &err));
	assert_string_equal(found.command, "make");
	assert_string_equal(found.keep_root, "/work");
	assert_string_equal(found.keep_folder, "out");
	assert_string_equal(found.keep_user, "coder");
	assert_string_equal(found.run, "night");
	assert_int_equal(found.state, JOB_RUNNING);
	assert_int_equal(found.channel, JOB_CHANNEL_STREAM);
	assert_int_equal(found.token_hash[2], 3);
	assert_int_equal(found.actual, SANDBOX_DELETED);
	ref.conversation = "";
	assert_refused(store_job_find(*state, &a, &ref, &found, &err), ERROR_NOT_FOUND);
	ref = (struct job_ref){"other", "chat", "job"};
	assert_refused(store_job_find(*state, &a, &ref, &found, &err), ERROR_NOT_FOUND);
	ref = (struct job_ref){.id = "job"};
	assert_done(store_job_find(*state, &a, &ref, &found, &err));
}

static void a_job_settles_once_with_one_event(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_record r;

	insert(*state, "job", JOB_CHANNEL_NONE);
	assert_done(store_job_finish(*state, &a, "job", &done, &r, &err));
	assert_int_equal(r.state, JOB_COMPLETED);
	assert_int_equal(r.delivery, JOB_DELIVERY_NONE);
	assert_refused(store_job_finish(*state, &a, "job", &done, &r, &err), ERROR_CONFLICT);
	assert_refused(store_job_finish(*state, &a, "none", &done, &r, &err), ERROR_NOT_FOUND);
	assert_refused(store_job_stopping(*state, "job", &err), ERROR_CONFLICT);
	assert_int_equal(count_events(*state, "job.*"), 1);
	assert_int_equal(count_events(*state, "job.completed"), 1);
	assert_int_equal(count_events(*state, "agent.finished"), 0);
	assert_done(store_job_find(*state, &a, &(struct job_ref){.id = "job"}, &r, &err));
	assert_string_equal(r.stdout_json, "\"out\\u0000\"");
	assert_string_equal(r.cause, "exit");
	assert_int_equal(r.ended_at, NOW + 5);
}

static void its_event_tells_programs_what_they_need(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_record r;
	struct event_list list;

	insert(*state, "job", JOB_CHANNEL_WEBHOOK);
	assert_done(store_job_finish(*state, &a, "job", &done, &r, &err));
	assert_done(store_event_list(*state, &a,
	                             &(struct event_page){.pattern = "agent.finished", .limit = 9},
	                             &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(
	        list.items[0].detail,
	        "{\"resultId\":\"job\",\"status\":\"completed\",\"exitCode\":0,"
	        "\"conversation\":\"chat\",\"cause\":\"exit\",\"stdout\":\"out\\u0000\"}");
	assert_string_equal(list.items[0].sandbox_id, "sandbox");
}

static void an_end_that_was_asked_for_is_a_stop_and_no_failure(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_record r;
	struct job_end killed = done;

	killed.state = JOB_FAILED;
	killed.exit_code = 137;
	insert(*state, "job", JOB_CHANNEL_NONE);
	assert_done(store_job_stopping(*state, "job", &err));
	assert_done(store_job_finish(*state, &a, "job", &killed, &r, &err));
	assert_int_equal(r.state, JOB_STOPPED);
	assert_int_equal(count_events(*state, "job.stopped"), 1);
	insert(*state, "both", JOB_CHANNEL_NONE);
	assert_done(store_job_stopping(*state, "both", &err));
	assert_done(store_job_finish(*state, &a, "both", &done, &r, &err));
	assert_int_equal(r.state, JOB_COMPLETED);
}

static void an_end_that_is_told_is_seen_when_the_files_are_there(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct job_ref ref = {.id = "job"};
	struct job_end other = done;
	struct job_record r;

	other.exit_code = 9;
	insert(*state, "job", JOB_CHANNEL_SLACK);
	assert_refused(store_job_finish(*state, &a, "job", NULL, &r, &err), ERROR_CONFLICT);
	assert_done(store_job_set_reported(*state, "job", &done, &err));
	assert_refused(store_job_set_reported(*state, "job", &other, &err), ERROR_CONFLICT);
	assert_refused(store_job_stopping(*state, "job", &err), ERROR_CONFLICT);
	assert_done(store_job_find(*state, &a, &ref, &r, &err));
	assert_int_equal(r.state, JOB_RUNNING);
	assert_int_equal(r.told, JOB_COMPLETED);
	assert_int_equal(r.exit_code, -1);
	assert_int_equal(r.ended_at, 0);
	assert_string_equal(r.stdout_json, "");
	assert_done(store_job_look(*state, &a, "job", &r, &err));
	assert_int_equal(r.told, JOB_COMPLETED);
	assert_int_equal(r.ended_at, 0);
	assert_string_equal(r.stdout_json, "");
	assert_int_equal(count_events(*state, "job.*"), 0);
	assert_done(store_job_finish(*state, &a, "job", NULL, &r, &err));
	assert_int_equal(r.state, JOB_COMPLETED);
	assert_int_equal(r.exit_code, 0);
	assert_int_equal(r.ended_at, NOW + 5);
	assert_int_equal(r.delivery, JOB_DELIVERY_WAITING);
	assert_string_equal(r.stdout_json, "\"out\\u0000\"");
	assert_int_equal(count_events(*state, "job.completed"), 1);
	assert_refused(store_job_set_reported(*state, "job", &other, &err), ERROR_CONFLICT);
}

static void one_whose_files_are_lost_has_failed_and_says_how_it_ended(void **state)
{
	static const struct job_end lost = {
	        .state = JOB_FAILED, .exit_code = -1, .reason = "it is gone", .ended_at = NOW + 9};
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_end failed = done;
	struct job_record r;

	failed.state = JOB_FAILED;
	failed.exit_code = 3;
	failed.reason = "exit code 3";
	failed.cause = "disk";
	insert(*state, "well", JOB_CHANNEL_NONE);
	insert(*state, "badly", JOB_CHANNEL_NONE);
	insert(*state, "stopped", JOB_CHANNEL_NONE);
	assert_done(store_job_set_reported(*state, "well", &done, &err));
	assert_done(store_job_finish(*state, &a, "well", &lost, &r, &err));
	assert_int_equal(r.state, JOB_FAILED);
	assert_int_equal(r.exit_code, 0);
	assert_int_equal(r.ended_at, NOW + 5);
	assert_string_equal(r.reason, "its files are lost: it is gone");
	assert_string_equal(r.stdout_json, "\"out\\u0000\"");
	assert_done(store_job_set_reported(*state, "badly", &failed, &err));
	assert_done(store_job_finish(*state, &a, "badly", &lost, &r, &err));
	assert_int_equal(r.exit_code, 3);
	assert_string_equal(r.reason, "exit code 3; its files are lost: it is gone");
	assert_string_equal(r.cause, "disk");
	assert_done(store_job_stopping(*state, "stopped", &err));
	assert_done(store_job_set_reported(*state, "stopped", &failed, &err));
	assert_done(store_job_finish(*state, &a, "stopped", NULL, &r, &err));
	assert_int_equal(r.state, JOB_STOPPED);
}

static void a_sandbox_runs_so_many_at_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_record r = sample("three"), other = sample("four"), ended;

	insert(*state, "one", JOB_CHANNEL_NONE);
	insert(*state, "two", JOB_CHANNEL_NONE);
	assert_refused(store_job_insert(*state, &r, 2, &err), ERROR_LIMIT);
	assert_refused(store_job_find(*state, &a, &(struct job_ref){.id = "three"}, &ended, &err),
	               ERROR_NOT_FOUND);
	other.sandbox_id = "another";
	assert_done(store_job_insert(*state, &other, 2, &err));
	assert_done(store_job_finish(*state, &a, "one", &done, &ended, &err));
	assert_done(store_job_insert(*state, &r, 2, &err));
}

struct crowd {
	struct store *store;
	pthread_mutex_t mutex;
	unsigned taken, refused, next;
};

static void *insert_some(void *context)
{
	struct crowd *crowd = context;

	for (int i = 0; i < 4; i++) {
		struct error err = {0};
		struct id id = id_new();
		struct job_record r = sample(id.text);
		int result = store_job_insert(crowd->store, &r, 10, &err);

		pthread_mutex_lock(&crowd->mutex);
		crowd->taken += result == 0;
		crowd->refused += result < 0 && err.code == ERROR_LIMIT;
		pthread_mutex_unlock(&crowd->mutex);
	}
	return NULL;
}

static void so_many_at_once_holds_for_those_who_come_together(void **state)
{
	struct crowd crowd = {.store = *state, .mutex = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[6];

	for (size_t i = 0; i < COUNT_OF(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, insert_some, &crowd), 0);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(crowd.taken, 10);
	assert_int_equal(crowd.refused, 14);
}

static void a_process_is_noted_once_and_what_never_ran_goes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_start start = {"job", "boot", 7, NOW + 1}, other = {"job", "later", 7, NOW};
	struct job_record r;

	insert(*state, "job", JOB_CHANNEL_NONE);
	insert(*state, "never", JOB_CHANNEL_NONE);
	assert_done(store_job_started(*state, &start, &err));
	assert_done(store_job_started(*state, &start, &err));
	assert_refused(store_job_started(*state, &other, &err), ERROR_CONFLICT);
	assert_done(store_job_remove(*state, "job", &err));
	assert_done(store_job_remove(*state, "never", &err));
	assert_done(store_job_find(*state, &a, &(struct job_ref){.id = "job"}, &r, &err));
	assert_int_equal(r.process, 7);
	assert_int_equal(r.started_at, NOW + 1);
	assert_string_equal(r.boot_id, "boot");
	assert_refused(store_job_find(*state, &a, &(struct job_ref){.id = "never"}, &r, &err),
	               ERROR_NOT_FOUND);
}

static void a_look_at_one_leaves_out_what_it_wrote(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_record r;

	insert(*state, "job", JOB_CHANNEL_SLACK);
	assert_done(store_job_finish(*state, &a, "job", &done, &r, &err));
	assert_done(store_job_look(*state, &a, "job", &r, &err));
	assert_int_equal(r.state, JOB_COMPLETED);
	assert_int_equal(r.channel, JOB_CHANNEL_SLACK);
	assert_int_equal(r.token_expires_at, NOW + 9);
	assert_int_equal(r.created_at, NOW);
	assert_int_equal(r.ended_at, NOW + 5);
	assert_int_equal(r.stdout_bytes, 4);
	assert_int_equal(r.delivery_at, NOW + 5);
	assert_string_equal(r.keep_root, "/work");
	assert_string_equal(r.run, "night");
	assert_string_equal(r.stdout_json, "");
	assert_string_equal(r.stderr_json, "");
	assert_refused(store_job_look(*state, &a, "none", &r, &err), ERROR_NOT_FOUND);
}

static void lists_show_what_runs_and_what_a_conversation_has(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_page page = {.project_id = PROJECT, .conversation = "chat", .limit = 10};
	struct job_record r;
	struct job_list list;

	insert(*state, "a", JOB_CHANNEL_NONE);
	insert(*state, "b", JOB_CHANNEL_NONE);
	assert_done(store_job_finish(*state, &a, "a", &done, &r, &err));
	assert_done(store_job_running(*state, &a, "", &list, &err));
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].id, "b");
	assert_int_equal(list.items[0].told, JOB_RUNNING);
	assert_done(store_job_set_reported(*state, "b", &done, &err));
	assert_done(store_job_running(*state, &a, "", &list, &err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].told, JOB_COMPLETED);
	assert_int_equal(list.items[0].actual, SANDBOX_DELETED);
	assert_string_equal(list.items[0].node, "");
	/* It may be much, and there may be thousands. */
	assert_null(list.items[0].stdout_json);
	assert_done(store_job_running(*state, &a, "b", &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_job_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 2);
	page.state = "completed";
	assert_done(store_job_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 1);
	page.before = NOW;
	assert_done(store_job_list(*state, &a, &page, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_job_purge(*state, NOW + 5, &err));
	assert_done(store_job_find(*state, &a, &(struct job_ref){.id = "a"}, &r, &err));
	assert_done(store_job_purge(*state, NOW + 6, &err));
	assert_refused(store_job_find(*state, &a, &(struct job_ref){.id = "a"}, &r, &err),
	               ERROR_NOT_FOUND);
	assert_done(store_job_find(*state, &a, &(struct job_ref){.id = "b"}, &r, &err));
}

static void a_message_is_sent_by_one_and_ends_once(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct job_delivery_change claim = {.id = "job", .at = NOW + 100}, end = {.id = "job"};
	const struct job_ref ref = {.project_id = PROJECT, .id = "job"};
	struct job_record r;
	struct job_list list;
	int64_t next;

	insert(*state, "job", JOB_CHANNEL_SLACK);
	insert(*state, "quiet", JOB_CHANNEL_WEBHOOK);
	assert_done(store_job_next_delivery(*state, &next, &err));
	assert_int_equal(next, 0);
	assert_done(store_job_finish(*state, &a, "job", &done, &r, &err));
	assert_done(store_job_finish(*state, &a, "quiet", &done, &r, &err));
	assert_done(store_job_to_deliver(*state, &a, NOW + 4, &list, &err));
	assert_int_equal(list.count, 0);
	assert_done(store_job_to_deliver(*state, &a, NOW + 5, &list, &err));
	assert_int_equal(list.count, 1);
	assert_done(store_job_delivery_claim(*state, &claim, &err));
	assert_refused(store_job_delivery_claim(*state, &claim, &err), ERROR_CONFLICT);
	assert_refused(store_job_deliver_again(*state, &ref, &err), ERROR_CONFLICT);
	end.delivery = JOB_DELIVERY_WAITING;
	end.at = NOW + 50;
	end.status = 503;
	assert_refused(store_job_delivery_end(*state, &end, &err), ERROR_CONFLICT);
	end.tries = 1;
	assert_done(store_job_delivery_end(*state, &end, &err));
	assert_done(store_job_next_delivery(*state, &next, &err));
	assert_int_equal(next, NOW + 50);
	claim.tries = 1;
	assert_done(store_job_delivery_claim(*state, &claim, &err));
	/* Whoever has it is gone. */
	claim.error = "lost";
	assert_done(store_job_deliveries_lost(*state, &claim, &err));
	assert_done(store_job_find(*state, &a, &ref, &r, &err));
	assert_int_equal(r.delivery, JOB_DELIVERY_SENDING);
	claim.at++;
	assert_done(store_job_deliveries_lost(*state, &claim, &err));
	assert_done(store_job_find(*state, &a, &ref, &r, &err));
	assert_int_equal(r.delivery, JOB_DELIVERY_DEAD);
	assert_int_equal(r.delivery_status, 503);
	assert_string_equal(r.delivery_error, "lost");
	assert_done(store_job_deliveries(
	        *state, &a, &(struct job_delivery_page){.project_id = PROJECT, .limit = 9}, &list,
	        &err));
	assert_int_equal(list.count, 1);
	assert_done(store_job_deliver_again(*state, &ref, &err));
	assert_done(store_job_to_deliver(*state, &a, NOW, &list, &err));
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].delivery_tries, 0);
}

/* The ends of a project's many jobs, all older, leave room among those that are read. */
static void messages_are_read_from_the_projects_in_turn(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	const struct project_record other = {.id = "other", .name = "other", .created_at = NOW};
	struct job_record r;
	struct job_end later = done;
	struct job_list list;
	bool has_theirs = false;

	assert_done(store_project_insert(*state, &other, &err));
	for (unsigned i = 0; i < 40; i++) {
		const char *id = arena_format(&a, "mine-%02u", i);

		insert(*state, id, JOB_CHANNEL_SLACK);
		assert_done(store_job_finish(*state, &a, id, &done, &r, &err));
	}
	r = sample("theirs");
	r.project_id = "other";
	r.channel = JOB_CHANNEL_SLACK;
	later.ended_at = NOW + 6;
	assert_done(store_job_insert(*state, &r, 10, &err));
	assert_done(store_job_finish(*state, &a, "theirs", &later, &r, &err));
	assert_done(store_job_to_deliver(*state, &a, NOW + 7, &list, &err));
	assert_int_equal(list.count, 16);
	for (size_t i = 0; i < list.count; i++)
		has_theirs |= strcmp(list.items[i].id, "theirs") == 0;
	assert_true(has_theirs);
}

static void a_channel_is_its_projects_and_there_are_so_many(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct channel_record r = {.id = "c1",
	                           .project_id = PROJECT,
	                           .name = "slack",
	                           .kind = JOB_CHANNEL_SLACK,
	                           .token = "secret",
	                           .created_at = NOW};
	const struct channel_ref ref = {PROJECT, "slack"}, alien = {"other", "slack"};
	struct channel_record found;
	struct channel_list list;

	assert_done(store_channel_put(*state, &r, 1, &err));
	r.id = "c2";
	r.token = "newer";
	r.created_at++;
	assert_done(store_channel_put(*state, &r, 1, &err));
	assert_done(store_channel_find(*state, &a, &ref, &found, &err));
	assert_string_equal(found.id, "c1");
	assert_string_equal(found.token, "newer");
	assert_int_equal(found.created_at, NOW);
	r.name = "second";
	assert_refused(store_channel_put(*state, &r, 1, &err), ERROR_LIMIT);
	assert_done(store_channel_list(*state, &a, PROJECT, &list, &err));
	assert_int_equal(list.count, 1);
	assert_refused(store_channel_find(*state, &a, &alien, &found, &err), ERROR_NOT_FOUND);
	assert_refused(store_channel_remove(*state, &alien, &err), ERROR_NOT_FOUND);
	assert_done(store_channel_remove(*state, &ref, &err));
	assert_refused(store_channel_remove(*state, &ref, &err), ERROR_NOT_FOUND);
}

static const struct CMUnitTest tests[] = {
        EACH(a_job_is_found_by_its_own_conversation_alone),
        EACH(a_job_settles_once_with_one_event),
        EACH(its_event_tells_programs_what_they_need),
        EACH(an_end_that_was_asked_for_is_a_stop_and_no_failure),
        EACH(an_end_that_is_told_is_seen_when_the_files_are_there),
        EACH(one_whose_files_are_lost_has_failed_and_says_how_it_ended),
        EACH(a_sandbox_runs_so_many_at_once),
        EACH(so_many_at_once_holds_for_those_who_come_together),
        EACH(a_process_is_noted_once_and_what_never_ran_goes),
        EACH(a_look_at_one_leaves_out_what_it_wrote),
        EACH(lists_show_what_runs_and_what_a_conversation_has),
        EACH(a_message_is_sent_by_one_and_ends_once),
        EACH(messages_are_read_from_the_projects_in_turn),
        EACH(a_channel_is_its_projects_and_there_are_so_many),
};

int main(void)
{
	return each_store_run(tests, COUNT_OF(tests));
}
