/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a stream of frames, each decoded by a shape of either protocol; what decodes must
 * encode to the very same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/agent.h"
#include "wire/agent_files.h"
#include "wire/agent_warm.h"
#include "wire/broker.h"
#include "wire/broker_sandbox.h"
#include "wire/broker_template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct wire_member *const shapes[] = {
        agent_failed_shape, agent_done_shape,      agent_pong_shape,     agent_exec_shape,
        agent_attach_shape, agent_process_shape,   agent_output_shape,   agent_resize_shape,
        agent_signal_shape, agent_feed_shape,      agent_stop_shape,     agent_path_shape,
        agent_file_shape,   agent_change_shape,    broker_hello_shape,   broker_welcome_shape,
        broker_id_shape,    broker_create_shape,   broker_created_shape, broker_entry_shape,
        broker_usage_shape, broker_template_shape, broker_ok_shape,      broker_failed_shape,
        broker_ended_shape, agent_warm_shape,
};

union any {
	struct agent_exec exec;
	struct agent_process process;
	struct agent_path path;
	struct broker_create create;
	struct broker_usage usage;
};

static void check(uint16_t type, struct span payload)
{
	const struct wire_member *shape = shapes[type % COUNT_OF(shapes)];
	AUTO(buf_done) struct buf again = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	AUTO(arena_done) struct arena a = {0};
	struct error err;
	union any message;

	if (wire_decode(&a, payload, shape, &message, sizeof(message), &err) < 0)
		return;
	if (wire_encode(&again, type, shape, &message, &err) < 0)
		abort();
	if (again.size != WIRE_HEAD_SIZE + payload.size ||
	    memcmp(again.data + WIRE_HEAD_SIZE, payload.data, payload.size) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = {(const char *)data, size}, payload;
	struct error err;
	uint16_t type;

	while (wire_next(&in, &type, &payload, NULL, &err) > 0)
		check(type, payload);
	return 0;
}
