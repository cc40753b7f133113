/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a job as a message of a chat service: what each service is sent, and what becomes of
 * the message when the service answers, refuses or does not answer. */
#include "config/config.h"
#include "job/channel.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "job/parts.h"
#include "store/channels.h"
#include "store/database.h"
#include "store/projects.h"
#include "unit.h"
#include "unit/receiver.h"
#include "worker/worker.h"

#define TOKEN "xoxb-123456"
#define SLACK "{\"type\":\"slack\",\"channel\":\"C1\"}"
#define OK "200 OK\r\n\r\n{\"ok\":true}"
#define RETRY_MS 60000

struct fixture {
	struct config config;
	struct jobs jobs; /* has no watch thread: the test calls jobs_deliver */
	struct receiver receiver;
	struct arena arena;
	unsigned count;
};
static struct fixture f;

static void open_jobs(struct jobs *jobs)
{
	const struct worker_options workers = {.threads = 8, .queue_max = 64};
	struct error err = {0};

	*jobs = (struct jobs){.config = &f.config,
	                      .node = "",
	                      .mutex = PTHREAD_MUTEX_INITIALIZER,
	                      .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	list_init(&jobs->delivering);
	assert_int_equal(store_open("sqlite::memory:", &jobs->store, &err), 0);
	assert_int_equal(worker_pool_start(&workers, &jobs->workers, &err), 0);
}

static void put_channel(const char *project, enum job_channel kind, const char *base_url)
{
	const struct channel_record r = {.id = project,
	                                 .project_id = project,
	                                 .name = job_channel_name(kind),
	                                 .kind = kind,
	                                 .base_url = base_url,
	                                 .token = TOKEN,
	                                 .created_at = 1,
	                                 .updated_at = 1};
	struct error err = {0};

	if (store_channel_put(f.jobs.store, &r, 5, &err) < 0)
		fail_msg("%s", err.text);
}

static int set_up(void **state)
{
	static const char *const projects[] = {"a", "b"};
	struct error err = {0};

	(void)state;
	log_open("test", LOG_ERROR);
	f = (struct fixture){.config = {.webhook_tries = 3,
	                                .webhook_retry_ms = RETRY_MS,
	                                .webhook_allow_private = true}};
	open_jobs(&f.jobs);
	receiver_open(&f.receiver);
	for (unsigned i = 0; i < COUNT_OF(projects); i++) {
		const struct project_record p = {
		        .id = projects[i], .name = projects[i], .created_at = 1};

		assert_int_equal(store_project_insert(f.jobs.store, &p, &err), 0);
		put_channel(projects[i], JOB_CHANNEL_SLACK, f.receiver.url);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	worker_pool_stop(f.jobs.workers);
	receiver_close(&f.receiver);
	store_close(f.jobs.store);
	close(f.jobs.wake);
	arena_done(&f.arena);
	return 0;
}

/* Returns the id of a job of the project that has ended, and whose message waits. */
static const char *ended_job(const char *project)
{
	const struct job_record r = {
	        .id = arena_format(&f.arena, "%019u%u", 0, f.count++),
	        .project_id = project,
	        .sandbox_id = "box",
	        .channel = JOB_CHANNEL_SLACK,
	        .origin_json = SLACK,
	        .command = "make",
	        .exit_code = -1,
	        .created_at = clock_unix_ms(),
	};
	const struct job_end end = {.state = JOB_COMPLETED,
	                            .reason = "",
	                            .cause = "",
	                            .stdout_json = "\"it is <made>\"",
	                            .stderr_json = "",
	                            .ended_at = clock_unix_ms()};
	struct job_record ended;
	struct error err = {0};

	assert_int_equal(store_job_insert(f.jobs.store, &r, 100, &err), 0);
	assert_int_equal(store_job_finish(f.jobs.store, &f.arena, r.id, &end, &ended, &err), 0);
	assert_int_equal(ended.delivery, JOB_DELIVERY_WAITING);
	return r.id;
}

static struct job_record find_job(const char *id)
{
	struct job_record r;
	struct error err = {0};

	assert_int_equal(
	        store_job_find(f.jobs.store, &f.arena, &(struct job_ref){.id = id}, &r, &err), 0);
	return r;
}

static void deliver_once(void)
{
	struct error err = {0};

	if (jobs_deliver(&f.jobs, &err) < 0)
		fail_msg("%s", err.text);
}

/* The end of each delivery rings. */
static void await_deliveries(void)
{
	uint64_t count;

	while (atomic_load(&f.jobs.deliveries) > 0) {
		struct pollfd wake = {.fd = f.jobs.wake, .events = POLLIN};

		assert_int_equal(poll(&wake, 1, 20000), 1);
		(void)!read(f.jobs.wake, &count, sizeof(count));
	}
}

static struct job_record deliver(const char *id)
{
	deliver_once();
	await_deliveries();
	return find_job(id);
}

/* ---- what each service is sent ---- */

TEST(each_service_is_sent_a_request_of_its_own_form)
{
	static const struct {
		enum job_channel channel;
		struct job_origin origin;
		const char *url, *header, *body;
	} rows[] = {
	        {JOB_CHANNEL_SLACK,
	         {.channel = "C1", .thread = "17.01"},
	         "http://x/api/chat.postMessage",
	         "Authorization: Bearer " TOKEN,
	         "{\"channel\":\"C1\",\"thread_ts\":\"17.01\",\"text\":\"a &lt;b&gt; &amp; "
	         "\\\"c\\\"\","
	         "\"unfurl_links\":false}"},
	        {JOB_CHANNEL_DISCORD,
	         {.channel = "7", .message = "8"},
	         "http://x/api/v10/channels/7/messages",
	         "Authorization: Bot " TOKEN,
	         "{\"content\":\"a <b> & \\\"c\\\"\",\"nonce\":\"job\",\"enforce_nonce\":true,"
	         "\"allowed_mentions\":{\"parse\":[]},\"message_reference\":{\"message_id\":\"8\","
	         "\"fail_if_not_exists\":false}}"},
	        {JOB_CHANNEL_TELEGRAM,
	         {.chat = "@name", .thread = "3", .message = "4"},
	         "http://x/bot" TOKEN "/sendMessage",
	         "Accept: application/json",
	         "{\"chat_id\":\"@name\",\"text\":\"a <b> & \\\"c\\\"\",\"message_thread_id\":3,"
	         "\"reply_parameters\":{\"message_id\":4,\"allow_sending_without_reply\":true},"
	         "\"link_preview_options\":{\"is_disabled\":true}}"},
	        {JOB_CHANNEL_GITHUB,
	         {.repository = "o/n", .issue = "9"},
	         "http://x/repos/o/n/issues/9/comments",
	         "X-GitHub-Api-Version: 2022-11-28",
	         "{\"body\":\"a <b> & \\\"c\\\"\"}"},
	        {JOB_CHANNEL_ZALO,
	         {.user = "u"},
	         "http://x/v3.0/oa/message/cs",
	         "access_token: " TOKEN,
	         "{\"recipient\":{\"user_id\":\"u\"},\"message\":{\"text\":\"a <b> & "
	         "\\\"c\\\"\"}}"},
	        {JOB_CHANNEL_PANCAKE,
	         {.page = "wa_1@c.us", .chat = "1_2"},
	         "http://x/api/public_api/v1/pages/wa_1%40c.us/conversations/1_2/messages"
	         "?page_access_token=" TOKEN,
	         "Accept: application/json",
	         "{\"action\":\"reply_inbox\",\"message\":\"a <b> & \\\"c\\\"\"}"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct channel_message m = {.origin = &rows[i].origin,
		                                  .base_url = "http://x",
		                                  .token = TOKEN,
		                                  .id = "job",
		                                  .text = "a <b> & \"c\""};
		AUTO(arena_done) struct arena a = {0};
		struct channel_request request = {0};
		bool has_header = false;

		channel_kind_find(rows[i].channel)->make(&a, &m, &request);
		assert_string_equal(request.url, rows[i].url);
		assert_string_equal(buf_text(&request.body), rows[i].body);
		for (size_t h = 0; request.headers[h]; h++)
			has_header |= strcmp(request.headers[h], rows[i].header) == 0;
		assert_true(has_header);
		buf_done(&request.body);
	}
}

TEST(only_chat_services_have_messages)
{
	for (int c = 0; c < JOB_CHANNEL_COUNT; c++)
		assert_int_equal(channel_kind_find((enum job_channel)c) != NULL,
		                 job_channel_is_chat((enum job_channel)c));
}

/* ---- what becomes of a message ---- */

TEST(a_message_is_sent_with_the_token_and_is_delivered)
{
	struct job_record r;

	f.receiver.answers[0] = OK;
	r = deliver(ended_job("a"));
	assert_int_equal(r.delivery, JOB_DELIVERY_DELIVERED);
	assert_int_equal(r.delivery_tries, 1);
	assert_int_equal(r.delivery_status, 200);
	assert_memory_equal(f.receiver.requests[0], "POST /api/chat.postMessage HTTP/1.1\r\n", 37);
	assert_string_equal(receiver_header(&f.receiver, 0, "Authorization"), "Bearer " TOKEN);
	assert_non_null(strstr(receiver_body(&f.receiver, 0), "it is &lt;made&gt;"));
}

TEST(a_service_that_fails_is_tried_again_and_given_up_in_the_end)
{
	const char *id = ended_job("a");
	int64_t now = clock_unix_ms();
	struct job_record r;

	f.receiver.answers[0] = "502 Bad\r\n\r\n";
	r = deliver(id);
	assert_int_equal(r.delivery, JOB_DELIVERY_WAITING);
	assert_int_equal(r.delivery_status, 502);
	assert_true(r.delivery_at >= now + RETRY_MS / 5 * 4);
	assert_string_equal(r.delivery_error, "the service answered with status 502");
	/* It is not due yet. */
	assert_int_equal(deliver(id).delivery_tries, 1);
	f.config.webhook_tries = 1;
	id = ended_job("a");
	f.receiver.answers[1] = "502 Bad\r\n\r\n";
	assert_int_equal(deliver(id).delivery, JOB_DELIVERY_DEAD);
}

TEST(a_service_says_how_long_to_wait)
{
	int64_t now = clock_unix_ms();
	struct job_record r;

	f.receiver.answers[0] = "429 Slow\r\nRetry-After: 1800\r\n\r\n";
	r = deliver(ended_job("a"));
	assert_int_equal(r.delivery, JOB_DELIVERY_WAITING);
	assert_true(r.delivery_at >= now + 1800 * 1000);
}

TEST(what_a_service_refuses_for_good_is_not_repeated)
{
	struct job_record r;

	f.receiver.answers[0] = "200 OK\r\n\r\n{\"ok\":false,\"error\":\"channel_not_found\"}";
	r = deliver(ended_job("a"));
	assert_int_equal(r.delivery, JOB_DELIVERY_DEAD);
	assert_string_equal(r.delivery_error, "the service answered: channel_not_found");
}

TEST(a_service_that_is_away_is_tried_again)
{
	struct job_record r;

	(void)shutdown(f.receiver.listener, SHUT_RDWR);
	r = deliver(ended_job("a"));
	assert_int_equal(r.delivery, JOB_DELIVERY_WAITING);
	assert_int_equal(r.delivery_status, 0);
	assert_string_not_equal(r.delivery_error, "");
}

TEST(without_its_channel_a_message_is_given_up)
{
	const struct channel_ref channel = {"a", "slack"};
	struct channel_record other;
	struct error err = {0};

	assert_int_equal(store_channel_find(f.jobs.store, &f.arena, &channel, &other, &err), 0);
	other.kind = JOB_CHANNEL_ZALO;
	assert_int_equal(store_channel_put(f.jobs.store, &other, 5, &err), 0);
	assert_string_equal(deliver(ended_job("a")).delivery_error,
	                    "channel 'slack' is one of zalo");
	assert_int_equal(store_channel_remove(f.jobs.store, &channel, &err), 0);
	assert_int_equal(deliver(ended_job("a")).delivery, JOB_DELIVERY_DEAD);
	assert_int_equal(f.receiver.count, 0);
}

TEST(a_private_address_gets_no_message_and_no_error_tells_the_token)
{
	struct job_record r;

	f.config.webhook_allow_private = false;
	r = deliver(ended_job("a"));
	assert_int_equal(r.delivery, JOB_DELIVERY_DEAD);
	assert_null(strstr(r.delivery_error, TOKEN));
	assert_int_equal(f.receiver.count, 0);
}

TEST(a_message_that_another_server_sends_is_left_to_it)
{
	const char *id = ended_job("a");
	const struct job_delivery_change claim = {.id = id, .at = clock_unix_ms() + 60000};
	struct error err = {0};

	assert_int_equal(store_job_delivery_claim(f.jobs.store, &claim, &err), 0);
	assert_int_equal(deliver(id).delivery, JOB_DELIVERY_SENDING);
	assert_int_equal(f.receiver.count, 0);
}

TEST(a_message_whose_server_ended_is_not_sent_again_by_itself)
{
	const char *id = ended_job("a");
	const struct job_delivery_change claim = {.id = id, .at = clock_unix_ms() - 1};
	const struct job_ref ref = {.project_id = "a", .id = id};
	struct job_record r;
	struct error err = {0};

	assert_int_equal(store_job_delivery_claim(f.jobs.store, &claim, &err), 0);
	r = deliver(id);
	assert_int_equal(r.delivery, JOB_DELIVERY_DEAD);
	assert_string_equal(r.delivery_error,
	                    "the server ended while it was sent: it may have arrived");
	assert_int_equal(f.receiver.count, 0);
	/* A person decides. */
	f.receiver.answers[0] = OK;
	assert_int_equal(store_job_deliver_again(f.jobs.store, &ref, &err), 0);
	assert_int_equal(deliver(id).delivery, JOB_DELIVERY_DELIVERED);
}

TEST(a_project_whose_service_hangs_leaves_room_for_another)
{
	unsigned of_b = 0;
	const char *id = NULL;

	receiver_hold(&f.receiver, true);
	for (int i = 0; i < 4; i++)
		(void)ended_job("a");
	id = ended_job("b");
	deliver_once();
	receiver_await(&f.receiver, 3);
	assert_int_equal(atomic_load(&f.jobs.deliveries), 3);
	for (unsigned i = 0; i < 3; i++)
		of_b += strstr(f.receiver.requests[i], id) != NULL;
	assert_int_equal(of_b, 1);
	receiver_hold(&f.receiver, false);
	await_deliveries();
	deliver_once();
	await_deliveries();
	assert_int_equal(f.receiver.count, 5);
}

TEST(the_next_look_is_when_a_message_is_due)
{
	int64_t now = clock_monotonic_ms();

	deliver_once();
	assert_true(f.jobs.deliver_at > now + 20000);
	f.receiver.answers[0] = "502 Bad\r\n\r\n";
	f.config.webhook_retry_ms = 1000;
	(void)deliver(ended_job("a"));
	deliver_once();
	assert_true(f.jobs.deliver_at <= clock_monotonic_ms() + 1200);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
	return RUN(CASE(each_service_is_sent_a_request_of_its_own_form),
	           CASE(only_chat_services_have_messages),
	           STEP(a_message_is_sent_with_the_token_and_is_delivered),
	           STEP(a_service_that_fails_is_tried_again_and_given_up_in_the_end),
	           STEP(a_service_says_how_long_to_wait),
	           STEP(what_a_service_refuses_for_good_is_not_repeated),
	           STEP(a_service_that_is_away_is_tried_again),
	           STEP(without_its_channel_a_message_is_given_up),
	           STEP(a_private_address_gets_no_message_and_no_error_tells_the_token),
	           STEP(a_message_that_another_server_sends_is_left_to_it),
	           STEP(a_message_whose_server_ended_is_not_sent_again_by_itself),
	           STEP(a_project_whose_service_hangs_leaves_room_for_another),
	           STEP(the_next_look_is_when_a_message_is_due));
}
