/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"
#include "unit.h"

#include "provider/native/broker_client.h"

#include "base/map.h"
#include "fake_broker.h"
#include "wire/broker.h"
#include "wire/broker_sandbox.h"

#define SANDBOX "abcdefghijklmnopqrst"

/* What the client has told, for the test to wait for. */
struct told {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	char ended[64];
	uint32_t reason;
	int running; /* -1 = not told */
};
static struct told told = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, "", 0, -1};

static void on_ended(void *context, const struct broker_ended *ended)
{
	struct told *t = context;

	pthread_mutex_lock(&t->mutex);
	snprintf(t->ended, sizeof(t->ended), "%s", ended->sandbox);
	t->reason = ended->reason;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->mutex);
}

static void on_running(void *context, const struct map *running)
{
	struct told *t = context;

	pthread_mutex_lock(&t->mutex);
	t->running = (int)running->count;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->mutex);
}

static void on_tick(void *context)
{
	(void)context;
}

static struct broker_client *open_client(struct fake_broker *b)
{
	struct broker_client_options options = {b->path, on_ended, on_running, on_tick, &told};
	struct broker_client *client = NULL;
	struct error err = {0};

	told.ended[0] = '\0';
	told.running = -1;
	if (broker_client_open(&options, &client, &err) < 0)
		fail_msg("%s", err.text);
	return client;
}

static int stop(struct broker_client *client, bool may_repeat, int64_t deadline, struct error *err)
{
	struct broker_id message = {.sandbox = SANDBOX};
	struct broker_call call = {.type = BROKER_STOP,
	                           .shape = broker_id_shape,
	                           .message = &message,
	                           .may_repeat = may_repeat};

	return broker_client_call(client, &call, deadline, err);
}

static int answer_ok(struct fake_broker *b, uint16_t type, struct span payload,
                     struct wire_fds *fds)
{
	(void)type;
	(void)fds;
	return fake_ok(b, payload);
}

TEST(a_call_gets_its_own_reply)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_ok);
	struct broker_client *client = open_client(&b);
	assert_string_equal(broker_client_welcome(client).cgroup, "v2");
	assert_int_equal(stop(client, false, deadline_after(5000), &err), 0);
	broker_client_close(client);
	fake_broker_stop(&b);
}

static int answer_refused(struct fake_broker *b, uint16_t type, struct span payload,
                          struct wire_fds *fds)
{
	(void)type;
	(void)fds;
	return fake_failed(b, payload, ERROR_LIMIT, "no room");
}

TEST(a_refusal_keeps_its_code_text_and_hint)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_refused);
	struct broker_client *client = open_client(&b);
	assert_int_equal(stop(client, true, deadline_after(5000), &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_string_equal(err.text, "no room");
	assert_string_equal(err.hint, "try something else");
	assert_int_equal(b.requests, 1);
	broker_client_close(client);
	fake_broker_stop(&b);
}

static int answer_unknown_code(struct fake_broker *b, uint16_t type, struct span payload,
                               struct wire_fds *fds)
{
	(void)type;
	(void)fds;
	return fake_failed(b, payload, 9999, "strange");
}

TEST(a_code_that_nobody_knows_is_a_system_error)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_unknown_code);
	struct broker_client *client = open_client(&b);
	assert_int_equal(stop(client, false, deadline_after(5000), &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	broker_client_close(client);
	fake_broker_stop(&b);
}

static int answer_nothing(struct fake_broker *b, uint16_t type, struct span payload,
                          struct wire_fds *fds)
{
	(void)b;
	(void)type;
	(void)payload;
	(void)fds;
	return 0;
}

TEST(a_call_ends_at_its_deadline)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_nothing);
	struct broker_client *client = open_client(&b);
	assert_int_equal(stop(client, true, deadline_after(30), &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	broker_client_close(client);
	fake_broker_stop(&b);
}

/* Keeps requests back until three have come, then answers the last one first. */
static int answer_in_reverse(struct fake_broker *b, uint16_t type, struct span payload,
                             struct wire_fds *fds)
{
	static uint64_t requests[3];
	static unsigned count;

	(void)type;
	(void)fds;
	requests[count++] = fake_request(payload);
	if (count < 3)
		return 0;
	while (count > 0) {
		struct broker_usage usage = {.request = requests[--count]};
		usage.pids = usage.request;
		if (fake_send(b, BROKER_USAGE, broker_usage_shape, &usage) < 0)
			return -1;
	}
	return 0;
}

static void *ask_stats(void *client)
{
	struct arena a = {0};
	struct broker_id message = {.sandbox = SANDBOX};
	struct broker_usage usage = {0};
	struct broker_call call = {.type = BROKER_STATS,
	                           .shape = broker_id_shape,
	                           .message = &message,
	                           .reply_type = BROKER_USAGE,
	                           .reply_shape = broker_usage_shape,
	                           .reply = &usage,
	                           .reply_size = sizeof(usage),
	                           .arena = &a};
	struct error err = {0};
	bool fine = broker_client_call(client, &call, deadline_after(5000), &err) == 0 &&
	            usage.pids == message.request;

	arena_done(&a);
	return fine ? client : NULL;
}

TEST(replies_in_another_order_reach_those_who_asked)
{
	struct fake_broker b;
	pthread_t threads[3];

	fake_broker_start(&b, answer_in_reverse);
	struct broker_client *client = open_client(&b);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_stats, client), 0);
	for (int i = 0; i < 3; i++) {
		void *fine = NULL;
		pthread_join(threads[i], &fine);
		assert_non_null(fine);
	}
	broker_client_close(client);
	fake_broker_stop(&b);
}

static int answer_wrong_type(struct fake_broker *b, uint16_t type, struct span payload,
                             struct wire_fds *fds)
{
	struct broker_welcome welcome = {.request = fake_request(payload), .cgroup = ""};

	(void)type;
	(void)fds;
	return fake_send(b, BROKER_WELCOME, broker_welcome_shape, &welcome);
}

TEST(a_reply_of_another_type_is_an_error)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_wrong_type);
	struct broker_client *client = open_client(&b);
	assert_int_equal(stop(client, false, deadline_after(5000), &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	broker_client_close(client);
	fake_broker_stop(&b);
}

/* Crashes on the first request after a start, then works. */
static int answer_after_a_crash(struct fake_broker *b, uint16_t type, struct span payload,
                                struct wire_fds *fds)
{
	(void)fds;
	if (b->connections == 1)
		return -1;
	return type == BROKER_LIST ? fake_list(b, payload) : fake_ok(b, payload);
}

TEST(a_call_that_may_be_repeated_survives_a_restart_of_the_broker)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_after_a_crash);
	b.running[0] = SANDBOX;
	struct broker_client *client = open_client(&b);
	assert_int_equal(stop(client, true, deadline_after(5000), &err), 0);
	assert_int_equal(b.connections, 2);
	assert_int_equal(told.running, 1);
	broker_client_close(client);
	fake_broker_stop(&b);
}

TEST(a_call_that_may_not_be_repeated_fails_and_the_next_one_works)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_after_a_crash);
	struct broker_client *client = open_client(&b);
	assert_int_equal(stop(client, false, deadline_after(5000), &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_int_equal(stop(client, false, deadline_after(5000), &err), 0);
	assert_int_equal(told.running, 0);
	broker_client_close(client);
	fake_broker_stop(&b);
}

static int answer_with_an_end(struct fake_broker *b, uint16_t type, struct span payload,
                              struct wire_fds *fds)
{
	struct broker_ended ended = {.sandbox = SANDBOX, .reason = 4};

	(void)type;
	(void)fds;
	if (fake_send(b, BROKER_ENDED, broker_ended_shape, &ended) < 0)
		return -1;
	return fake_ok(b, payload);
}

TEST(the_end_of_a_sandbox_is_told)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_with_an_end);
	struct broker_client *client = open_client(&b);
	assert_int_equal(stop(client, false, deadline_after(5000), &err), 0);
	/* The event came before the reply, and one thread reads both in order. */
	assert_string_equal(told.ended, SANDBOX);
	assert_int_equal(told.reason, 4);
	broker_client_close(client);
	fake_broker_stop(&b);
}

TEST(a_broker_of_another_protocol_is_refused)
{
	struct fake_broker b;
	struct broker_client_options options = {NULL, on_ended, on_running, on_tick, &told};
	struct broker_client *client = NULL;
	struct error err = {0};

	fake_broker_start(&b, answer_ok);
	b.protocol = BROKER_PROTOCOL + 1;
	options.socket_path = b.path;
	assert_int_equal(broker_client_open(&options, &client, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_null(client);
	fake_broker_stop(&b);
}

TEST(a_missing_broker_is_an_error_at_open)
{
	struct broker_client_options options = {"/nonexistent/broker.sock", on_ended, on_running,
	                                        on_tick, &told};
	struct broker_client *client = NULL;
	struct error err = {0};

	assert_int_equal(broker_client_open(&options, &client, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_non_null(strstr(err.text, "broker"));
}

TEST(closing_works_while_the_broker_is_away)
{
	struct fake_broker b;
	struct error err = {0};

	fake_broker_start(&b, answer_after_a_crash);
	struct broker_client *client = open_client(&b);
	assert_int_equal(stop(client, false, deadline_after(5000), &err), -1);
	broker_client_close(client);
	fake_broker_stop(&b);
}

int main(void)
{
	return RUN(
	        CASE(a_call_gets_its_own_reply), CASE(a_refusal_keeps_its_code_text_and_hint),
	        CASE(a_code_that_nobody_knows_is_a_system_error), CASE(a_call_ends_at_its_deadline),
	        CASE(replies_in_another_order_reach_those_who_asked),
	        CASE(a_reply_of_another_type_is_an_error),
	        CASE(a_call_that_may_be_repeated_survives_a_restart_of_the_broker),
	        CASE(a_call_that_may_not_be_repeated_fails_and_the_next_one_works),
	        CASE(the_end_of_a_sandbox_is_told), CASE(a_broker_of_another_protocol_is_refused),
	        CASE(a_missing_broker_is_an_error_at_open),
	        CASE(closing_works_while_the_broker_is_away));
}
