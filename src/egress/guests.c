/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
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

/* "=ID +example.com …": the sandbox, then its rules. */
static const char *take_sandbox(const struct buf *text, struct network_decision *d)
{
	struct span rest = buf_span(text), word;

	if (!span_starts_with(rest, "="))
		return buf_text(text);
	(void)span_split(&rest, ' ', &word);
	span_skip(&word, 1);
	if (word.size < sizeof(d->sandbox))
		(void)snprintf(d->sandbox, sizeof(d->sandbox), "%.*s", (int)word.size, word.data);
	return rest.size > 0 ? rest.data : "";
}

static bool read_rules(const struct gateway *g, const struct guest *guest, struct buf *text)
{
	const struct fd_open_options options = {.flags = O_RDONLY};
	AUTO_CLOSE int fd = -1;
	struct error ignored = {0};

	return fd_open_beneath(g->rules_fd, guest->name, &options, &fd, &ignored) == 0 &&
	       fd_read_to_end(fd, text, &ignored) == 0;
}

static bool is_denied(const struct egress_ranges *denied, uint32_t address)
{
	for (size_t i = 0; i < denied->count; i++)
		if (egress_range_has(&denied->items[i], address))
			return true;
	return false;
}

/* Whether rules decide on a name by its addresses: where all connections leave by the proxy, and
 * the rules leave a nameserver reachable. Otherwise asking for the name could carry data out. */
static bool rules_judge_addresses(const struct gateway *g, const char *rules)
{
	struct egress_ranges denied;
	struct error ignored = {0};

	if (g->proxy.port == 0 || sandbox_egress_denied(rules, &denied, &ignored) < 0)
		return false;
	for (unsigned i = 0; i < g->resolver.server_count; i++)
		if (!is_denied(&denied, g->resolver.servers[i]))
			return true;
	return false;
}

bool rules_allow(const struct gateway *g, const struct guest *guest, struct network_decision *d,
                 bool *ret_is_decrypted)
{
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TOLD_MAX + ID_SIZE + 2);
	bool is_name = host_name_is_valid(span_of(d->host)), is_open;
	const char *rules;
	struct span rule, cut;
	bool is_watched;

	if (ret_is_decrypted)
		*ret_is_decrypted = false;
	if (!read_rules(g, guest, &text))
		return false;
	rules = take_sandbox(&text, d);
	cut = sandbox_egress_cut(rules);
	rule = sandbox_egress_rule_of_name(rules, span_of(d->host));
	is_watched = sandbox_egress_mode(rules) == EGRESS_WATCH && is_name;
	is_open = rule.size == 0 && is_name && rules_judge_addresses(g, rules);
	(void)snprintf(d->rule, sizeof(d->rule), "%.*s", (int)rule.size, rule.data);
	if (cut.size > 0)
		decision_set_cut(d, cut);
	if (ret_is_decrypted)
		*ret_is_decrypted = sandbox_egress_decrypts(rules, span_of(d->host),
		                                            d->protocol == DECISION_HTTP);
	d->verdict = rule.size > 0 || is_open ? DECISION_ALLOWED
	             : is_watched             ? DECISION_WATCHED
	                                      : DECISION_DENIED;
	return d->verdict != DECISION_DENIED;
}

bool rules_source(const struct gateway *g, const struct guest *guest, uint32_t *ret)
{
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TOLD_MAX + ID_SIZE + 2);
	struct network_decision ignored;

	if (!read_rules(g, guest, &text))
		return false;
	*ret = sandbox_egress_source(take_sandbox(&text, &ignored));
	return true;
}

bool rules_leave_address(const struct gateway *g, const struct guest *guest,
                         struct network_decision *d, uint32_t address)
{
	AUTO(buf_done) struct buf text = BUF(SANDBOX_EGRESS_TOLD_MAX + ID_SIZE + 2);
	struct egress_ranges denied;
	struct error ignored = {0};
	const char *rules;

	if (d->verdict != DECISION_ALLOWED || *d->rule)
		return true;
	if (!read_rules(g, guest, &text))
		return false;
	rules = take_sandbox(&text, d);
	if (sandbox_egress_denied(rules, &denied, &ignored) < 0)
		return false;
	if (!is_denied(&denied, address))
		return true;
	if (sandbox_egress_mode(rules) != EGRESS_WATCH)
		return false;
	d->verdict = DECISION_WATCHED;
	return true;
}

/* The same rules as in broker/network/firewall.c for the sandboxes' own packets. */
bool gateway_may_reach(const struct gateway *g, uint32_t address)
{
	if (address >> 24 == LOOPBACK_NET || address >> 24 == THIS_NET ||
	    egress_range_has(&g->subnet, address))
		return false;
	/* A proxy may reach what this host has no route to. */
	return (egress_opened_has(&g->opened, address) || !egress_is_refused(address)) &&
	       route_leads_out(g->routes_fd, address, g->proxy.port != 0);
}

bool gateway_may_reach6(const struct gateway *g, const struct address6 *address)
{
	return g->resolver.has_ipv6 && !egress_range6_has(&g->subnet6, address) &&
	       (egress_opened_has6(&g->opened, address) || !egress_is_refused6(address)) &&
	       route_leads_out6(g->routes_fd, address);
}

void gateway_tell(struct gateway *g, const struct guest *guest, struct network_decision *d,
                  const char *why)
{
	unsigned char *told = &g->told[guest->address % REFUSALS_TOLD];
	int64_t now = loop_now_ms(g->loop);

	gateway_report(g, guest, d);
	if (now - g->told_since_ms >= TOLD_SPAN_MS) {
		memset(g->told, 0, sizeof(g->told));
		g->told_since_ms = now;
	}
	if (*told == TOLD_MAX)
		return;
	(*told)++;
	log_info("egress refused", TEXT("address", guest->name), TEXT("host", d->host),
	         TEXT("because", why));
}
