/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections give way in a full table, and how many a project may have. */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "harness.h"
#include "http/server/owners.h"
#include "http/server/shares.h"
#include "worker/worker.h"

#define HOST "Host: x\r\n"
#define TABLE 16

static struct answer answer;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static int reply_at_once(UNUSED struct request *rq, UNUSED const void *body, struct reply *reply,
                         UNUSED struct error *err)
{
	reply_status(reply, 204);
	return 0;
}

static int wait_at_gate(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return reply_at_once(rq, body, reply, err);
}

static const struct route routes[] = {
        {HTTP_GET, "/inline", .flags = ROUTE_INLINE, .handle = reply_at_once},
        {HTTP_GET, "/hold", .handle = wait_at_gate},
        {0},
};

/* The header X-Project is whom the connection counts for. */
static int authorize(struct request *rq, UNUSED const struct route *route, UNUSED struct error *err)
{
	const char *project = request_header(rq, "X-Project");

	if (project)
		request_count_for(rq, project);
	rq->caller = rq;
	return 0;
}

static void open_server(struct fixture *f)
{
	fixture_open(f, routes,
	             &(struct server_options){.connections_max = TABLE, .authorize = authorize});
}

static void ask(int fd, const char *path, const char *project)
{
	char head[256];

	snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\n" HOST "X-Project: %s\r\n\r\n", path,
	         project);
	client_send(fd, head);
}

static int ask_and_keep(const struct fixture *f, const char *project)
{
	int fd = client_connect(f);

	ask(fd, "/inline", project);
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 204);
	return fd;
}

/* A server that has not read yet what a burst of clients sent may say 503 for a moment. */
static int ask_until_answered(const struct fixture *f, const char *project)
{
	int fd = -1;

	for (unsigned i = 0; i < 500; i++) {
		fd = client_connect(f);
		ask(fd, "/inline", project);
		client_receive(fd, &answer);
		if (answer.status != 503)
			break;
		close(fd);
		(void)usleep(10000);
	}
	assert_int_equal(answer.status, 204);
	return fd;
}

TEST(connections_without_a_request_give_way)
{
	int idle[4 * TABLE], fd;
	struct fixture f;

	open_server(&f);
	for (size_t i = 0; i < COUNT_OF(idle); i++) {
		idle[i] = client_connect(&f);
		if (i % 2) /* half a head */
			client_send(idle[i], "GET /in");
	}
	for (unsigned i = 0; i < 3; i++) {
		fd = ask_until_answered(&f, "quiet");
		close(fd);
	}
	assert_true(fixture_counts(&f).closed_idle > 0);
	for (size_t i = 0; i < COUNT_OF(idle); i++)
		close(idle[i]);
	fixture_close(&f);
}

TEST(the_owner_of_most_connections_loses_idle_ones)
{
	int quiet, loud[4 * TABLE];
	struct fixture f;

	open_server(&f);
	quiet = ask_and_keep(&f, "quiet");
	for (size_t i = 0; i < COUNT_OF(loud); i++) {
		loud[i] = client_connect(&f);
		ask(loud[i], "/inline", "loud");
		client_receive(loud[i], &answer);
		/* Its own idle ones give way before it is refused. */
		assert_int_equal(answer.status, 204);
	}
	ask(quiet, "/inline", "quiet");
	client_receive(quiet, &answer);
	assert_int_equal(answer.status, 204);
	assert_true(fixture_counts(&f).closed_idle > 0);
	for (size_t i = 0; i < COUNT_OF(loud); i++)
		close(loud[i]);
	close(quiet);
	fixture_close(&f);
}

static bool some_are_refused(const struct server_counts *counts)
{
	return counts->refused_by_project >= TABLE / 8;
}

/* All that were refused, which have an answer. */
static unsigned close_refused(int *fds, size_t count)
{
	unsigned closed = 0;

	for (size_t i = 0; i < count; i++) {
		struct pollfd peer = {.fd = fds[i], .events = POLLIN};

		if (poll(&peer, 1, 0) <= 0)
			continue;
		client_receive(fds[i], &answer);
		assert_int_equal(answer.status, 429);
		assert_true(answer_has(&answer, "Connection: close"));
		close(TAKE_FD(fds[i]));
		closed++;
	}
	return closed;
}

TEST(a_project_has_as_many_connections_as_are_free)
{
	int loud[TABLE], fd;
	struct fixture f;

	open_server(&f);
	pthread_mutex_lock(&gate);
	for (size_t i = 0; i < COUNT_OF(loud); i++) {
		loud[i] = client_connect(&f);
		ask(loud[i], "/hold", "loud");
	}
	fixture_await(&f, some_are_refused);
	while (close_refused(loud, COUNT_OF(loud)) == 0)
		(void)usleep(1000);
	fd = client_connect(&f);
	ask(fd, "/inline", "quiet");
	client_receive(fd, &answer);
	assert_int_equal(answer.status, 204);
	pthread_mutex_unlock(&gate);
	close(fd);
	for (size_t i = 0; i < COUNT_OF(loud); i++)
		if (loud[i] >= 0)
			close(loud[i]);
	fixture_close(&f);
}

/* All connections of a proxy come from one address. */
TEST(an_address_has_no_bound)
{
	int fds[TABLE - 2];
	char project[16];
	struct fixture f;

	open_server(&f);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		snprintf(project, sizeof(project), "p%zu", i);
		fds[i] = ask_and_keep(&f, project);
	}
	assert_int_equal(fixture_counts(&f).connections_open, COUNT_OF(fds));
	assert_int_equal(fixture_counts(&f).refused_by_project, 0);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		close(fds[i]);
	fixture_close(&f);
}

TEST(a_network_of_ipv6_is_one_client)
{
	assert_true(owners_id_of_peer("[2001:db8::1]:5000") ==
	            owners_id_of_peer("[2001:db8::ffff:2]:6000"));
	assert_true(owners_id_of_peer("[2001:db8::1]:5000") !=
	            owners_id_of_peer("[2001:db8:0:1::1]:5000"));
	assert_true(owners_id_of_peer("[::ffff:192.0.2.1]:5000") ==
	            owners_id_of_peer("192.0.2.1:6000"));
	assert_true(owners_id_of_peer("192.0.2.1:5000") != owners_id_of_peer("192.0.2.2:5000"));
	assert_true(owners_id_of_peer("unix") == owners_id_of_peer("unix"));
}

int main(void)
{
	return RUN(CASE(connections_without_a_request_give_way),
	           CASE(the_owner_of_most_connections_loses_idle_ones),
	           CASE(a_project_has_as_many_connections_as_are_free),
	           CASE(an_address_has_no_bound), CASE(a_network_of_ipv6_is_one_client));
}
