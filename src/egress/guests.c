/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "egress/gateway.h"
#include "egress/route.h"

#define LOOPBACK_NET 127
#define THIS_NET 0
#define TOLD_MAX 3
#define TOLD_SPAN_MS 10000

struct guest *guest_get(struct gateway *g, uint32_t address)
{
	const struct in_addr in = {htonl(address)};
	char name[INET_ADDRSTRLEN];
	struct guest *guest;

	(void)inet_ntop(AF_INET, &in, name, sizeof(name));
	guest = map_find(&g->guests, name);
	if (guest)
		return guest;
	guest = memory_new(sizeof(*guest));
	guest->address = address;
	memcpy(guest->name, name, sizeof(name));
	(void)map_put(&g->guests, guest->name, guest);
	return guest;
}

void guest_put(struct gateway *g, struct guest *guest)
{
	if (guest->connections > 0 || guest->questions > 0)
		return;
	(void)map_remove(&g->guests, guest->name);
	free(guest);
}

bool gateway_knows(const struct gateway *g, uint32_t address)
{
	return egress_range_has(&g->subnet, address);
}

bool rules_allow(const struct gateway *g, const struct guest *guest, const char *name)
{
	const struct fd_open_options options = {.flags = O_RDONLY};
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TEXT_MAX);
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};

	return fd_open_beneath(g->rules_fd, guest->name, &options, &fd, &ignored) == 0 &&
	       fd_read_to_end(fd, &text, &ignored) == 0 &&
	       sandbox_egress_allows_name(buf_text(&text), span_of(name));
}

/* The same rules as in broker/network/firewall.c for the sandboxes' own packets. */
bool gateway_may_reach(const struct gateway *g, uint32_t address)
{
	bool is_given_back = false;

	if (address >> 24 == LOOPBACK_NET || address >> 24 == THIS_NET ||
	    egress_range_has(&g->subnet, address))
		return false;
	for (unsigned i = 0; i < g->allow_count; i++)
		is_given_back = is_given_back || egress_range_has(&g->allow[i], address);
	return (is_given_back || !egress_is_refused(address)) &&
	       route_leads_out(g->routes_fd, address);
}

void gateway_tell(struct gateway *g, const struct guest *guest, const char *name, const char *why)
{
	unsigned char *told = &g->told[guest->address % REFUSALS_TOLD];
	int64_t now = loop_now_ms(g->loop);

	if (now - g->told_since_ms >= TOLD_SPAN_MS) {
		memset(g->told, 0, sizeof(g->told));
		g->told_since_ms = now;
	}
	if (*told == TOLD_MAX)
		return;
	(*told)++;
	log_info("egress refused", TEXT("address", guest->name), TEXT("host", name),
	         TEXT("because", why));
}
