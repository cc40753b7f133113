/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/requests.h — the table of requests: a packet of atolld becomes a request. */
#pragma once

#include "base/bytes.h"
#include "wire/broker_messages.h"

struct broker;

struct request_context;
typedef int run_request(const struct request_context *c, const void *request, struct error *err);

struct request_row {
	uint16_t type;
	const struct wire_member *shape;
	size_t size;
	int (*check)(const void *request, struct error *err);
	run_request *run;
};

/* Every message begins with its u64 number. */
struct broker_request {
	const struct request_row *row;
	union {
		struct broker_hello hello;
		struct broker_id id;
		struct broker_create create;
		struct broker_template template;
		struct broker_snapshot snapshot;
		struct broker_volume volume;
		struct broker_pool pool;
		struct broker_backup backup;
		struct broker_egress egress;
		struct broker_measure measure;
		struct broker_trash trash;
		struct broker_probe probe;
	} message;
};
/* Decodes the packet and finds its row, and does nothing else. The caller runs the row's check. */
MUST_CHECK int request_read(struct arena *a, struct span packet, struct broker_request *ret,
                            struct error *err);
/* Runs one packet of atolld and closes its descriptors. An error means a malformed packet; a
 * request that fails gets its reply here. */
MUST_CHECK int broker_dispatch(struct broker *b, uint64_t connection, struct span packet,
                               struct wire_fds *fds, struct error *err);
