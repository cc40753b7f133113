/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/resolver.h"

#define SERVER_FAILURE 2
#define REFUSAL 5

/* Two nameservers on the loop that asks them: each gives one code, or an address. */
struct fixture;
struct nameserver {
	struct fixture *of;
	struct loop_watch *watch;
	int fd, code;
	unsigned asked;
};
struct fixture {
	struct loop *loop;
	struct resolver resolver;
	struct nameserver servers[2];
	unsigned of_one, ended;
	bool has_ipv6_only; /* the name */
	enum dns_code code;
	struct dns_addresses addresses;
	struct loop_timer timer;
};

static struct fixture f;

static void on_query(void *context, UNUSED uint32_t epoll_events)
{
	static const char record[] = "\xc0\x0c\0\1\0\1\0\0\0\5\0\4\1\2\3\4";
	static const char record6[] =
	        "\xc0\x0c\0\x1c\0\1\0\0\0\5\0\x10\x26\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1";
	struct nameserver *s = context;
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	char data[DNS_SIZE_MAX];
	ssize_t got = recvfrom(s->fd, data, sizeof(data) - sizeof(record6), 0,
	                       (struct sockaddr *)&from, &size);

	assert_true(got > 12);
	s->asked++;
	data[2] = (char)0x81;
	data[3] = (char)(0x80 | s->code);
	if (s->code == DNS_OK && data[got - 3] == DNS_KIND_AAAA) {
		data[7] = 1;
		memcpy(data + got, record6, sizeof(record6) - 1);
		got += (ssize_t)sizeof(record6) - 1;
	} else if (s->code == DNS_OK && !f.has_ipv6_only) {
		data[7] = 1;
		memcpy(data + got, record, sizeof(record) - 1);
		got += (ssize_t)sizeof(record) - 1;
	}
	assert_int_equal(sendto(s->fd, data, (size_t)got, 0, (struct sockaddr *)&from, size), got);
}

static void open_server(unsigned number)
{
	struct nameserver *s = &f.servers[number];
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(f.resolver.port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK + number)};
	socklen_t size = sizeof(address);
	struct loop_watch_options options = {
	        .epoll_events = EPOLLIN, .on_ready = on_query, .context = s};
	struct error err;

	s->of = &f;
	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	options.fd = s->fd;
	assert_int_equal(bind(s->fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&address, &size), 0);
	f.resolver.port = ntohs(address.sin_port);
	f.resolver.servers[number] = INADDR_LOOPBACK + number;
	f.resolver.server_count++;
	assert_int_equal(loop_watch_add(f.loop, &options, &s->watch, &err), 0);
}

static void on_too_late(UNUSED void *context)
{
	loop_stop(f.loop);
}

static int open_all(void **state)
{
	struct error err;

	(void)state;
	f = (struct fixture){.timer = {.on_timer = on_too_late}};
	if (loop_open(&f.loop, &err) < 0)
		return -1;
	f.resolver.loop = f.loop;
	open_server(0);
	open_server(1);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT_OF(f.servers); i++) {
		loop_watch_free(f.servers[i].watch);
		(void)close(f.servers[i].fd);
	}
	loop_timer_stop(f.loop, &f.timer);
	loop_close(f.loop);
	return 0;
}

static void on_end(UNUSED void *context, enum dns_code code, const struct dns_addresses *addresses)
{
	f.ended++;
	f.code = code;
	f.addresses = *addresses;
	loop_stop(f.loop);
}

static const struct lookup_options options = {
        .name = "example.com", .of_one = &f.of_one, .on_end = on_end};

static void look_up(int first, int second)
{
	f.servers[0].code = first;
	f.servers[1].code = second;
	assert_non_null(lookup_start(&f.resolver, &options));
	assert_int_equal(f.of_one, 1);
	loop_timer_start(f.loop, &f.timer, 15000);
	loop_run(f.loop);
	assert_int_equal(f.ended, 1);
	assert_int_equal(f.of_one, 0);
	assert_int_equal(f.resolver.lookups, 0);
}

TEST(one_that_cannot_tell_sends_to_the_next)
{
	look_up(SERVER_FAILURE, DNS_OK);
	assert_int_equal(f.code, DNS_OK);
	assert_int_equal(f.addresses.items[0], 0x01020304);
	assert_int_equal(f.servers[0].asked, 1);
	assert_int_equal(f.servers[1].asked, 1);
}

TEST(when_none_can_tell_it_ends_without_waiting)
{
	look_up(SERVER_FAILURE, REFUSAL);
	assert_int_equal(f.code, DNS_FAILED);
	assert_int_equal(f.servers[0].asked, 1);
	assert_int_equal(f.servers[1].asked, 1);
}

TEST(that_there_is_no_such_name_is_an_answer)
{
	look_up(DNS_NO_NAME, DNS_OK);
	assert_int_equal(f.code, DNS_NO_NAME);
	assert_int_equal(f.servers[1].asked, 0);
}

TEST(a_name_without_ipv4_is_asked_for_again_where_the_host_has_ipv6)
{
	f.has_ipv6_only = true;
	look_up(DNS_OK, DNS_OK);
	assert_int_equal(f.code, DNS_OK);
	assert_int_equal(f.addresses.count + f.addresses.count6, 0);
	assert_int_equal(f.servers[0].asked, 1);
	f.resolver.has_ipv6 = true;
	f.ended = 0;
	look_up(DNS_OK, DNS_OK);
	assert_int_equal(f.addresses.count, 0);
	assert_int_equal(f.addresses.count6, 1);
	assert_int_equal(f.addresses.items6[0].bytes[0], 0x26);
	assert_int_equal(f.servers[0].asked, 3);
	f.has_ipv6_only = false;
	f.ended = 0;
	look_up(DNS_OK, DNS_OK);
	assert_int_equal(f.addresses.count, 1);
	assert_int_equal(f.servers[0].asked, 4);
}

TEST(one_sandbox_leaves_room_for_the_others)
{
	struct lookup_options of_another = options;
	struct lookup *all[LOOKUPS_OF_ONE_MAX], *another;
	unsigned count = 0;

	of_another.of_one = &count;
	for (unsigned i = 0; i < COUNT_OF(all); i++) {
		all[i] = lookup_start(&f.resolver, &options);
		assert_non_null(all[i]);
	}
	assert_null(lookup_start(&f.resolver, &options));
	another = lookup_start(&f.resolver, &of_another);
	assert_non_null(another);
	lookup_cancel(all[0]);
	all[0] = lookup_start(&f.resolver, &options);
	assert_non_null(all[0]);
	for (unsigned i = 0; i < COUNT_OF(all); i++)
		lookup_cancel(all[i]);
	lookup_cancel(another);
	assert_int_equal(f.of_one + count + f.resolver.lookups, 0);
}

#define OPENED(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)
int main(void)
{
	return RUN(OPENED(one_that_cannot_tell_sends_to_the_next),
	           OPENED(when_none_can_tell_it_ends_without_waiting),
	           OPENED(that_there_is_no_such_name_is_an_answer),
	           OPENED(a_name_without_ipv4_is_asked_for_again_where_the_host_has_ipv6),
	           OPENED(one_sandbox_leaves_room_for_the_others));
}
