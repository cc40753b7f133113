/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/end.h"
#include "unit.h"

#include "provider/provider.h"
#include "provider/templates.h"

#include "base/bytes.h"
#include "fake_broker.h"
#include "provider/entries.h"
#include "wire/broker.h"
#include "wire/broker_kind.h"
#include "wire/broker_sandbox.h"

#define SANDBOX "abcdefghijklmnopqrst"

static char ended_id[ID_SIZE + 1];
static atomic_int ended_reason;

static void on_ended(void *context, const char *id, const struct provider_end *end)
{
	(void)context;
	snprintf(ended_id, sizeof(ended_id), "%s", id);
	ended_reason = (int)end->reason;
}

static struct provider *open_provider(const char *name, struct fake_broker *b)
{
	struct provider_options options = {
	        .data_dir = b->dir, .broker_socket = b->path, .on_ended = on_ended};
	struct provider *p = NULL;
	struct error err = {0};

	ended_reason = 0;
	if (provider_find(name)->open(&options, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static const struct sandbox_spec spec = {
        .id = SANDBOX,
        .hostname = "box",
        .template_dir = "base",
        .resources = {.cpu = 0.5, .memory_mb = 64, .disk_mb = 100, .pids = 32},
};

/* What the broker was asked last, and what it answers with. */
static struct broker_create seen;
static char seen_texts[128];
static uint16_t seen_types[8];
static unsigned seen_count;

static int answer_all(struct fake_broker *b, uint16_t type, struct span payload,
                      struct wire_fds *fds)
{
	struct arena a = {0};
	struct error err = {0};

	(void)fds;
	seen_types[seen_count++ % 8] = type;
	if (type == BROKER_LIST)
		return fake_list(b, payload);
	if (type == BROKER_STATS) {
		struct broker_usage usage = {fake_request(payload), .pids = 3, .oom_kills = 1,
		                             .disk_bytes = UINT64_MAX};
		return fake_send(b, BROKER_USAGE, broker_usage_shape, &usage);
	}
	if (type != BROKER_CREATE && type != BROKER_START)
		return fake_ok(b, payload);
	if (wire_decode(&a, payload, broker_create_shape, &seen, sizeof(seen), &err) < 0)
		return -1;
	snprintf(seen_texts, sizeof(seen_texts), "%s %s %s", seen.sandbox, seen.hostname,
	         seen.template_name);
	arena_done(&a);
	struct broker_created created = {fake_request(payload), 1, 1234, "overlay=41"};
	return fake_send(b, BROKER_CREATED, broker_created_shape, &created);
}

TEST(create_tells_the_broker_what_to_make)
{
	struct fake_broker b;
	struct provider_created created;
	struct error err = {0};

	fake_broker_start(&b, answer_all);
	struct provider *p = open_provider("host", &b);
	const struct provider_ops *ops = provider_ops_of(p);
	assert_int_equal(ops->create(p, &spec, deadline_after(5000), &created, &err), 0);
	assert_int_equal(seen.kind, BROKER_HOST);
	assert_string_equal(seen_texts, SANDBOX " box base");
	assert_int_equal(seen.cpu_milli, 500);
	assert_int_equal(seen.memory_bytes, 64 << 20);
	assert_int_equal(seen.pids, 32);
	assert_true(created.disk_is_advisory);
	assert_int_equal(created.took_us, 1234);
	assert_int_equal(created.effective.memory_mb, 64);
	ops->close(p);
	fake_broker_stop(&b);
}

TEST(a_create_may_be_ended_later_than_it_was_begun)
{
	struct fake_broker b;
	struct provider_created created;
	struct error err = {0};

	fake_broker_start(&b, answer_all);
	struct provider *p = open_provider("native", &b);
	const struct provider_ops *ops = provider_ops_of(p);
	struct provider_creation *creation = ops->create_begin(p, &spec);
	assert_non_null(creation);
	assert_int_equal(ops->stop(p, "bcdefghijklmnopqrstu", 100, deadline_after(5000), &err), 0);
	assert_int_equal(ops->create_end(p, creation, deadline_after(5000), &created, &err), 0);
	assert_string_equal(seen_texts, SANDBOX " box base");
	assert_int_equal(created.took_us, 1234);
	ops->close(p);
	fake_broker_stop(&b);
}

TEST(a_host_that_cannot_limit_disks_says_so)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_all);
	struct provider *p = open_provider("native", &b);
	assert_int_equal(provider_require(p, PROVIDER_CAN_LIMIT_DISK, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_int_equal(provider_require(p, PROVIDER_CAN_ISOLATE, &err), 0);
	provider_ops_of(p)->close(p);
	b.can_limit_disk = 1;
	p = open_provider("native", &b);
	assert_int_equal(provider_require(p, PROVIDER_CAN_LIMIT_DISK, &err), 0);
	provider_ops_of(p)->close(p);
	fake_broker_stop(&b);
}

TEST(pause_and_resume_ask_the_broker_of_a_host_that_can)
{
	struct fake_broker b;
	struct arena a = {0};
	struct provider_list list;
	struct error err = {0};

	fake_broker_start(&b, answer_all);
	struct provider *p = open_provider("host", &b);
	assert_int_equal(provider_require(p, PROVIDER_CAN_PAUSE, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	provider_ops_of(p)->close(p);
	b.can_pause = b.paused = 1;
	b.running[0] = SANDBOX;
	p = open_provider("host", &b);
	const struct provider_ops *ops = provider_ops_of(p);
	assert_int_equal(provider_require(p, PROVIDER_CAN_PAUSE, &err), 0);
	seen_count = 0;
	assert_int_equal(ops->pause(p, SANDBOX, deadline_after(5000), &err), 0);
	assert_int_equal(ops->resume(p, SANDBOX, deadline_after(5000), &err), 0);
	assert_int_equal(seen_types[0], BROKER_PAUSE);
	assert_int_equal(seen_types[1], BROKER_RESUME);
	assert_int_equal(ops->list(p, &a, &list, &err), 0);
	assert_true(list.entries[0].running && list.entries[0].paused);
	ops->close(p);
	arena_done(&a);
	fake_broker_stop(&b);
}

TEST(list_and_stats_report_what_the_broker_says)
{
	struct fake_broker b;
	struct arena a = {0};
	struct provider_list list;
	struct provider_stats stats;
	struct error err = {0};

	fake_broker_start(&b, answer_all);
	b.running[0] = SANDBOX;
	struct provider *p = open_provider("native", &b);
	const struct provider_ops *ops = provider_ops_of(p);
	assert_int_equal(ops->list(p, &a, &list, &err), 0);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.entries[0].id, SANDBOX);
	assert_true(list.entries[0].running);
	assert_int_equal(ops->stats(p, SANDBOX, &stats, &err), 0);
	assert_int_equal(stats.pids, 3);
	assert_true(stats.disk_bytes == UINT64_MAX);
	assert_int_equal(ops->health(p, &err), 0);
	ops->close(p);
	arena_done(&a);
	fake_broker_stop(&b);
}

TEST(a_list_with_a_name_that_is_no_id_is_refused)
{
	struct fake_broker b;
	struct arena a = {0};
	struct provider_list list;
	struct error err = {0};

	fake_broker_start(&b, answer_all);
	b.running[0] = "../../etc";
	struct provider *p = open_provider("native", &b);
	assert_int_equal(provider_ops_of(p)->list(p, &a, &list, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	provider_ops_of(p)->close(p);
	arena_done(&a);
	fake_broker_stop(&b);
}

/* Takes a create without an answer, as one that dies in the middle would. */
static int answer_dies_in_create(struct fake_broker *b, uint16_t type, struct span payload,
                                 struct wire_fds *fds)
{
	return type == BROKER_CREATE ? -1 : answer_all(b, type, payload, fds);
}

TEST(a_create_whose_outcome_is_not_known_is_undone)
{
	struct fake_broker b;
	struct provider_created created;
	struct error err = {0};

	seen_count = 0;
	fake_broker_start(&b, answer_dies_in_create);
	struct provider *p = open_provider("native", &b);
	const struct provider_ops *ops = provider_ops_of(p);
	assert_int_equal(ops->create(p, &spec, deadline_after(5000), &created, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_int_equal(seen_types[seen_count - 1], BROKER_DESTROY);
	ops->close(p);
	fake_broker_stop(&b);
}

TEST(a_create_that_was_begun_and_whose_outcome_is_not_known_is_undone)
{
	struct fake_broker b;
	struct provider_created created;
	struct error err = {0};

	seen_count = 0;
	fake_broker_start(&b, answer_dies_in_create);
	struct provider *p = open_provider("native", &b);
	const struct provider_ops *ops = provider_ops_of(p);
	struct provider_creation *creation = ops->create_begin(p, &spec);
	assert_non_null(creation);
	assert_int_equal(ops->create_end(p, creation, deadline_after(5000), &created, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_int_equal(seen_types[seen_count - 1], BROKER_DESTROY);
	ops->close(p);
	fake_broker_stop(&b);
}

/* Who would have to wait for the broker is told so at once. */
TEST(a_create_is_not_begun_while_there_is_no_broker)
{
	struct fake_broker b;

	fake_broker_start(&b, answer_all);
	struct provider *p = open_provider("native", &b);
	const struct provider_ops *ops = provider_ops_of(p);
	fake_broker_stop(&b);
	/* Until it has seen the end of the connection. */
	assert_int_equal(poll(NULL, 0, 100), 0);
	int64_t begun_ms = clock_monotonic_ms();
	assert_null(ops->create_begin(p, &spec));
	assert_true(clock_monotonic_ms() - begun_ms < 1000);
	ops->close(p);
}

/* After the restart the sandbox is in no list any more. */
static int answer_loses_all(struct fake_broker *b, uint16_t type, struct span payload,
                            struct wire_fds *fds)
{
	return type == BROKER_STOP && b->connections == 1 ? -1 : answer_all(b, type, payload, fds);
}

TEST(what_ended_while_the_broker_was_away_is_reported)
{
	struct fake_broker b;
	struct provider_created created;
	struct error err = {0};

	fake_broker_start(&b, answer_loses_all);
	struct provider *p = open_provider("native", &b);
	const struct provider_ops *ops = provider_ops_of(p);
	assert_int_equal(ops->create(p, &spec, deadline_after(5000), &created, &err), 0);
	assert_int_equal(ops->stop(p, "bcdefghijklmnopqrstu", 100, deadline_after(5000), &err), 0);
	assert_string_equal(ended_id, SANDBOX);
	assert_int_equal(ended_reason, SANDBOX_REASON_EXIT);
	ops->close(p);
	fake_broker_stop(&b);
}

/* ---- templates ---- */

static const char *lines;

/* The builder's lines go to the descriptor that came with the request. */
static int answer_template(struct fake_broker *b, uint16_t type, struct span payload,
                           struct wire_fds *fds)
{
	if (type != BROKER_TEMPLATE || fds->count < 1)
		return -1;
	(void)!write(fds->fds[0], lines, strlen(lines));
	wire_fds_close(fds);
	return strstr(lines, "error") ? fake_failed(b, payload, ERROR_SYSTEM, "it ended with 1")
	                              : fake_ok(b, payload);
}

static void note_progress(void *context, int percent, const char *text)
{
	snprintf(context, 64, "%d %s", percent, text);
}

TEST(a_template_build_tells_its_progress)
{
	struct fake_broker b;
	char last[64] = "";
	struct error err = {0};
	struct provider_template request = {.verb = PROVIDER_TEMPLATE_BUILD,
	                                    .name = "base",
	                                    .recipe = "base",
	                                    .source_fd = -1,
	                                    .on_progress = note_progress,
	                                    .context = last};

	lines = "10 downloading\n100 done\n";
	fake_broker_start(&b, answer_template);
	struct provider *p = open_provider("native", &b);
	assert_int_equal(provider_template(p, &request, deadline_after(5000), &err), 0);
	assert_string_equal(last, "100 done");
	provider_ops_of(p)->close(p);
	fake_broker_stop(&b);
}

TEST(a_failed_template_build_says_why_in_the_builders_words)
{
	struct fake_broker b;
	struct error err = {0};
	struct provider_template request = {
	        .verb = PROVIDER_TEMPLATE_IMPORT, .name = "mine", .recipe = "tar", .source_fd = 0};

	lines = "10 unpacking\nerror invalid_request not a tar\tgive it a tar\n";
	fake_broker_start(&b, answer_template);
	struct provider *p = open_provider("native", &b);
	assert_int_equal(provider_template(p, &request, deadline_after(5000), &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_string_equal(err.text, "not a tar");
	assert_string_equal(err.hint, "give it a tar");
	provider_ops_of(p)->close(p);
	fake_broker_stop(&b);
}

/* Keeps the lines open until nobody reads them, as a builder that hangs. */
static int answer_hangs(struct fake_broker *b, uint16_t type, struct span payload,
                        struct wire_fds *fds)
{
	struct pollfd p = {.fd = fds->fds[0], .events = 0};

	(void)type;
	(void)poll(&p, 1, 10000);
	return fake_failed(b, payload, ERROR_SYSTEM, "it was ended");
}

TEST(a_template_build_is_ended_at_its_deadline)
{
	struct fake_broker b;
	struct error err = {0};
	struct provider_template request = {
	        .verb = PROVIDER_TEMPLATE_BUILD, .name = "base", .recipe = "base", .source_fd = -1};

	fake_broker_start(&b, answer_hangs);
	struct provider *p = open_provider("native", &b);
	assert_int_equal(provider_template(p, &request, deadline_after(50), &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	provider_ops_of(p)->close(p);
	fake_broker_stop(&b);
}

int main(void)
{
	return RUN(CASE(create_tells_the_broker_what_to_make),
	           CASE(a_create_may_be_ended_later_than_it_was_begun),
	           CASE(a_host_that_cannot_limit_disks_says_so),
	           CASE(pause_and_resume_ask_the_broker_of_a_host_that_can),
	           CASE(list_and_stats_report_what_the_broker_says),
	           CASE(a_list_with_a_name_that_is_no_id_is_refused),
	           CASE(a_create_whose_outcome_is_not_known_is_undone),
	           CASE(a_create_that_was_begun_and_whose_outcome_is_not_known_is_undone),
	           CASE(a_create_is_not_begun_while_there_is_no_broker),
	           CASE(what_ended_while_the_broker_was_away_is_reported),
	           CASE(a_template_build_tells_its_progress),
	           CASE(a_failed_template_build_says_why_in_the_builders_words),
	           CASE(a_template_build_is_ended_at_its_deadline));
}
