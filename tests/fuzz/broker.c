/* SPDX-License-Identifier: Apache-2.0 */
/* What atolld may send, and what the broker reads from files: nothing of it is run. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "broker/box.h"
#include "broker/network.h"
#include "broker/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_request(struct span packet)
{
	AUTO(arena_done) struct arena a = {0};
	struct error err = {0};
	struct request r;

	if (request_read(&a, packet, &r, &err) == 0)
		(void)!r.row->check(&r.message, &err);
}

static void read_texts(const char *text)
{
	struct network n = {.usable = true};
	struct network_range range;
	struct error err = {0};
	struct box box = {.slot = 0};
	char boot_id[64];

	(void)!box_state_parse(&box, text, boot_id, &err);
	(void)!network_range_parse(text, &range, &err);
	(void)!network_allow_parse(&n, text, &err);
	network_nameservers_parse(&n, span_of(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);

	read_request((struct span){(const char *)data, size});
	buf_add(&text, data, size);
	read_texts(buf_text(&text));
	return 0;
}
