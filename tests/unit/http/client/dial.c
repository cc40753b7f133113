/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "http/client/host_lookup.h"
#include "unit.h"

#define PATIENCE_MS 20000
/* Nobody else listens at these. */
#define DEAD "127.77.0.1"
#define ALIVE "127.77.0.2"

/* What the name server says, and when. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const char *const *addresses; /* NULL: it fails */
static unsigned asked;
static bool is_held;

static int look_up(const char *host, struct host_addresses *ret, struct error *err)
{
	int result = 0;

	pthread_mutex_lock(&mutex);
	asked++;
	pthread_cond_broadcast(&changed);
	while (is_held)
		pthread_cond_wait(&changed, &mutex);
	if (!addresses)
		result = FAIL(err, ERROR_UNAVAILABLE, "find '%s': nobody knows it", host);
	for (; result == 0 && addresses[ret->count]; ret->count++) {
		struct sockaddr_in in = {.sin_family = AF_INET};

		assert_int_equal(inet_pton(AF_INET, addresses[ret->count], &in.sin_addr), 1);
		memcpy(&ret->items[ret->count].at, &in, sizeof(in));
		ret->items[ret->count].size = sizeof(in);
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

static struct host_lookup *open_names(const char *const *found)
{
	pthread_mutex_lock(&mutex);
	addresses = found;
	asked = 0;
	is_held = false;
	pthread_mutex_unlock(&mutex);
	return host_lookup_new(look_up);
}

static void hold(bool held)
{
	pthread_mutex_lock(&mutex);
	is_held = held;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

/* `backlog` 0: one connection waits to be accepted, and others are not answered. */
static int listen_at(const char *address, int backlog, uint16_t *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(*port)};
	socklen_t size = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &size), 0);
	*port = ntohs(in.sin_port);
	return fd;
}

static int fill(const char *address, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
	assert_int_equal(connect(fd, (const struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

static int dial(struct host_lookup *names, const char *host, uint16_t port, int64_t ms,
                struct error *err)
{
	const struct http_dial to = {
	        .names = names, .host = host, .port = port, .deadline = deadline_after(ms)};
	struct tls *tls;
	int fd = -1;

	if (http_dial(&to, &fd, &tls, err) < 0)
		return -1;
	assert_null(tls);
	assert_int_equal(close(fd), 0);
	return 0;
}

TEST(a_name_is_looked_up_once_and_an_address_never)
{
	static const char *const found[] = {"127.0.0.1", NULL};
	struct host_lookup *names = open_names(found);
	uint16_t port = 0;
	int server = listen_at("127.0.0.1", 8, &port);
	struct error err;

	assert_int_equal(dial(names, "127.0.0.1", port, PATIENCE_MS, &err), 0);
	assert_int_equal(asked, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(dial(names, "peer.example", port, PATIENCE_MS, &err), 0);
	assert_int_equal(asked, 1);
	close(server);
	host_lookup_free(names);
}

TEST(a_name_server_that_hangs_holds_nobody)
{
	static const char *const found[] = {"127.0.0.1", NULL};
	struct host_lookup *names = open_names(found);
	uint16_t port = 0;
	int server = listen_at("127.0.0.1", 8, &port);
	struct error err;

	hold(true);
	assert_int_equal(dial(names, "peer.example", port, 50, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_non_null(strstr(err.text, "'peer.example'"));
	/* It is the same question that the next one waits for. */
	assert_int_equal(dial(names, "peer.example", port, 0, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	/* Addresses need no name server. */
	assert_int_equal(dial(names, "127.0.0.1", port, PATIENCE_MS, &err), 0);
	hold(false);
	assert_int_equal(dial(names, "peer.example", port, PATIENCE_MS, &err), 0);
	assert_int_equal(asked, 1);
	close(server);
	host_lookup_free(names);
}

TEST(names_are_closed_while_one_is_looked_up)
{
	static const char *const found[] = {"127.0.0.1", NULL};
	struct host_lookup *names = open_names(found);
	struct error err;

	hold(true);
	assert_int_equal(dial(names, "peer.example", 1, 0, &err), -1);
	pthread_mutex_lock(&mutex);
	while (asked == 0)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	host_lookup_free(names);
	hold(false);
	host_lookup_free(NULL);
}

TEST(what_is_not_found_is_said_and_not_asked_for_at_once)
{
	struct host_lookup *names = open_names(NULL);
	struct error err;

	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(dial(names, "peer.example", 1, PATIENCE_MS, &err), -1);
		assert_int_equal(err.code, ERROR_UNAVAILABLE);
		assert_string_equal(err.text, "find 'peer.example': nobody knows it");
	}
	assert_true(asked < 20);
	assert_int_equal(dial(names, "", 1, PATIENCE_MS, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	host_lookup_free(names);
}

TEST(a_dead_address_leaves_time_for_the_next_and_comes_behind_it_then)
{
	static const char *const found[] = {DEAD, ALIVE, NULL};
	struct host_lookup *names = open_names(found);
	uint16_t port = 0;
	int dead = listen_at(DEAD, 0, &port), server = listen_at(ALIVE, 8, &port);
	int waiting = fill(DEAD, port);
	struct host_addresses known;
	struct error err;

	assert_int_equal(dial(names, "peer.example", port, 2000, &err), 0);
	assert_int_equal(host_lookup_find(names, "peer.example", 0, &known, &err), 0);
	assert_int_equal(known.count, 2);
	assert_int_equal(((struct sockaddr_in *)&known.items[0].at)->sin_addr.s_addr,
	                 inet_addr(ALIVE));
	close(waiting);
	close(dead);
	close(server);
	host_lookup_free(names);
}

TEST(an_address_that_does_not_answer_ends_with_the_deadline)
{
	struct host_lookup *names = open_names(NULL);
	uint16_t port = 0;
	int dead = listen_at(DEAD, 0, &port), waiting = fill(DEAD, port);
	struct error err;

	assert_int_equal(dial(names, DEAD, port, 50, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	close(waiting);
	close(dead);
	host_lookup_free(names);
}

int main(void)
{
	return RUN(CASE(a_name_is_looked_up_once_and_an_address_never),
	           CASE(a_name_server_that_hangs_holds_nobody),
	           CASE(names_are_closed_while_one_is_looked_up),
	           CASE(what_is_not_found_is_said_and_not_asked_for_at_once),
	           CASE(a_dead_address_leaves_time_for_the_next_and_comes_behind_it_then),
	           CASE(an_address_that_does_not_answer_ends_with_the_deadline));
}
