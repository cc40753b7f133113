/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to addresses of both families. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "escape/attempt.h"

#define WAIT_MS 2000
#define CALLS_MAX 128
#define TEXT_SIZE 80

struct calls {
	struct pollfd fds[CALLS_MAX];
	char texts[CALLS_MAX][TEXT_SIZE];
	unsigned count;
	char accepted[TEXT_SIZE]; /* "": none was */
};

static void note_end(struct calls *c, const char *text, int failure)
{
	printf("%s: %s\n", text, strerror(failure));
	if (failure == 0)
		(void)snprintf(c->accepted, sizeof(c->accepted), "%s", text);
}

static void begin_call(struct calls *c, const void *to, socklen_t size, const char *text)
{
	const struct sockaddr *address = to;
	int fd, failure;

	if (c->count == CALLS_MAX)
		return;
	fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	failure = fd < 0 || connect(fd, address, size) < 0 ? errno : 0;
	if (failure == EINPROGRESS) {
		(void)snprintf(c->texts[c->count], TEXT_SIZE, "%s", text);
		c->fds[c->count++] = (struct pollfd){.fd = fd, .events = POLLOUT};
		return;
	}
	note_end(c, text, failure);
	if (fd >= 0)
		(void)close(fd);
}

static void call_ipv6(struct calls *c, const struct in6_addr *address, unsigned port)
{
	struct sockaddr_in6 to = {
	        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = *address};
	struct if_nameindex *links = NULL;
	char own[INET6_ADDRSTRLEN] = "", text[TEXT_SIZE];

	(void)inet_ntop(AF_INET6, address, own, sizeof(own));
	(void)snprintf(text, sizeof(text), "[%s]:%u", own, port);
	if (!IN6_IS_ADDR_LINKLOCAL(address)) {
		begin_call(c, &to, sizeof(to), text);
		return;
	}
	links = if_nameindex();
	for (struct if_nameindex *i = links; i && i->if_index != 0; i++) {
		to.sin6_scope_id = i->if_index;
		(void)snprintf(text, sizeof(text), "[%s%%%s]:%u", own, i->if_name, port);
		begin_call(c, &to, sizeof(to), text);
	}
	if (links)
		if_freenameindex(links);
}

/* An IPv4 address, and the IPv6 addresses that may lead to it: mapped, compatible, of NAT64, 6to4
 * and ISATAP. */
static void call_ipv4(struct calls *c, struct in_addr address, unsigned port)
{
	static const struct in6_addr around[] = {
	        {{{[10] = 0xff, [11] = 0xff}}},
	        {{{0}}},
	        {{{0x00, 0x64, 0xff, 0x9b}}},
	        {{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}}},
	        {{{0xfe, 0x80, [10] = 0x5e, [11] = 0xfe}}},
	};
	struct in6_addr six = {{{0x20, 0x02, [15] = 1}}};
	struct sockaddr_in to = {
	        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = address};
	char own[INET_ADDRSTRLEN] = "", text[TEXT_SIZE];

	(void)inet_ntop(AF_INET, &address, own, sizeof(own));
	(void)snprintf(text, sizeof(text), "%s:%u", own, port);
	begin_call(c, &to, sizeof(to), text);
	memcpy(&six.s6_addr[2], &address, sizeof(address));
	call_ipv6(c, &six, port);
	for (unsigned i = 0; i < COUNT_OF(around); i++) {
		six = around[i];
		memcpy(&six.s6_addr[12], &address, sizeof(address));
		call_ipv6(c, &six, port);
	}
}

static void call_address(struct calls *c, const char *address, unsigned port)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, address, &four) == 1)
		call_ipv4(c, four, port);
	else if (inet_pton(AF_INET6, address, &six) == 1)
		call_ipv6(c, &six, port);
}

/* Waits for all calls at once; false: none was accepted. */
static bool end_calls(struct calls *c)
{
	int64_t deadline = deadline_after(WAIT_MS);
	unsigned open = c->count;

	while (open > 0 && poll(c->fds, c->count, deadline_poll_ms(deadline)) > 0) {
		for (unsigned i = 0; i < c->count; i++) {
			int failure = 0;
			socklen_t size = sizeof(failure);

			if (c->fds[i].fd < 0 || c->fds[i].revents == 0)
				continue;
			(void)getsockopt(c->fds[i].fd, SOL_SOCKET, SO_ERROR, &failure, &size);
			note_end(c, c->texts[i], failure);
			(void)close(c->fds[i].fd);
			c->fds[i].fd = -1;
			open--;
		}
	}
	for (unsigned i = 0; i < c->count; i++) {
		if (c->fds[i].fd < 0)
			continue;
		note_end(c, c->texts[i], ETIMEDOUT);
		(void)close(c->fds[i].fd);
	}
	return c->accepted[0] != '\0';
}

bool address_list_next(struct span *list, char ret_address[ATTEMPT_ADDRESS_SIZE],
                       unsigned *ret_port)
{
	while (list->size > 0) {
		struct span item;
		struct error ignored = {0};
		size_t colon;
		int64_t port;

		(void)span_split(list, ',', &item);
		for (colon = item.size; colon > 0 && item.data[colon - 1] != ':'; colon--)
			;
		if (colon < 2 ||
		    span_parse_whole(span_after(item, colon), 1, UINT16_MAX, &port, &ignored) < 0)
			continue;
		item.size = colon - 1;
		if (item.size > 2 && item.data[0] == '[')
			item = (struct span){item.data + 1, item.size - 2};
		if (item.size >= ATTEMPT_ADDRESS_SIZE)
			continue;
		memcpy(ret_address, item.data, item.size);
		ret_address[item.size] = '\0';
		*ret_port = (unsigned)port;
		return true;
	}
	return false;
}

enum escape_status connect_to_list(const char *list)
{
	struct calls calls = {.count = 0};
	struct span rest = span_of(list);
	char address[ATTEMPT_ADDRESS_SIZE];
	unsigned port;

	while (address_list_next(&rest, address, &port))
		call_address(&calls, address, port);
	if (end_calls(&calls))
		return report_escape("connected to %s", calls.accepted);
	return report_held("nothing accepts");
}

enum escape_status connect_to_metadata(void)
{
	static const char *const addresses[] = {
	        "169.254.169.254", "169.254.170.2", "100.100.100.200",
	        "fd00:ec2::254",   "fd00:ec2::23",  "fd20:ce::254",
	};
	struct calls calls = {.count = 0};

	for (unsigned i = 0; i < COUNT_OF(addresses); i++)
		call_address(&calls, addresses[i], 80);
	/* OpenStack's, on each link. */
	call_address(&calls, "fe80::a9fe:a9fe", 80);
	if (end_calls(&calls))
		return report_escape("a metadata address answered: %s", calls.accepted);
	return report_held("no metadata address answers");
}
