/* SPDX-License-Identifier: Apache-2.0 */
/* What atolld may send, and what the broker reads from files: nothing of it is run. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "broker/host/options.h"
#include "broker/network/egress.h"
#include "broker/network/firewall.h"
#include "broker/network/network.h"
#include "broker/network/uplink4.h"
#include "broker/network/uplink6.h"
#include "broker/sandbox/run_state.h"
#include "broker/sandbox/sandbox.h"
#include "broker/server/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_request(struct span packet)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct broker_request r;

	if (request_read(&a, packet, &r, &err) == 0)
		(void)!r.row->check(&r.message, &err);
}

static void ignore_slot(UNUSED void *context, uint32_t slot)
{
	assert(slot < SLOTS_MAX);
}

/* What they come to is in order, and none beside another. */
static void read_rules(const char *text)
{
	AUTO(buf_done) struct buf script = BUF(64 * 1024);
	struct host_network n = {.subnet = {0x0ad50000, 16}};
	const struct network_ruled ruled = {.sandbox = "fuzz", .egress = text};
	struct egress_ranges denied;
	struct egress_ranges6 denied6;
	struct error err = {0};

	network_egress_find(span_of(text), ignore_slot, NULL);
	if (sandbox_egress_denied(text, &denied, &err) < 0)
		return;
	assert(denied.count <= SANDBOX_EGRESS_RANGES_MAX);
	for (size_t i = 0; i < denied.count; i++) {
		assert(denied.items[i].first <= denied.items[i].last);
		assert(i == 0 || (uint64_t)denied.items[i - 1].last + 1 < denied.items[i].first);
	}
	assert(sandbox_egress_denied6(text, &denied6, &err) == 0);
	assert(denied6.count <= SANDBOX_EGRESS_RANGES_MAX);
	for (size_t i = 0; i < denied6.count; i++) {
		assert(memcmp(&denied6.items[i].first, &denied6.items[i].last,
		              sizeof(struct address6)) <= 0);
		assert(i == 0 || memcmp(&denied6.items[i - 1].last, &denied6.items[i].first,
		                        sizeof(struct address6)) < 0);
	}
	n.gateway = &(struct network_gateway){1, 2, 3};
	n.log_group = 21000;
	assert(network_egress_rules(&script, &n, &ruled, &err) == 0);
	assert(!script.overflowed);
}

static void read_texts(const char *text)
{
	struct host_network n = {.usable = true};
	struct network_range range;
	struct error err = {0};
	struct sandbox sandbox = {.slot = 0};
	struct span routes = span_of(text), name;
	char boot_id[64];

	(void)!run_state_parse(&sandbox, text, boot_id, &err);
	(void)!network_range_parse(text, &range, &err);
	(void)!network_allow_parse(&n, text, &err);
	(void)!network_subnet6_parse(text, &n.subnet6, &err);
	network_nameservers_parse(&n, span_of(text));
	while (network_next_uplink6(&routes, &name))
		assert(name.size > 0 && name.size < 16);
	routes = span_of(text);
	while (network_next_uplink4(&routes, &name))
		assert(name.size > 0 && name.size < 16);
	read_rules(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);

	read_request((struct span){(const char *)data, size});
	buf_add(&text, data, size);
	read_texts(buf_text(&text));
	return 0;
}
