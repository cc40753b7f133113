/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/probe_request.h"

#include <string.h>

#include "broker/sandbox/probe.h"
#include "broker/server/state.h"
#include "wire/broker_kind.h"
#include "wire/broker_probe.h"
#include "wire/broker_sandbox.h"

#define PROBE_CPU_MILLI 1000
#define PROBE_MEMORY_BYTES (UINT64_C(32) << 20)
#define PROBE_PIDS 16

int probe_start(const struct request_context *c, const void *message, struct error *err)
{
	const struct broker_probe *request = message;
	struct sandboxes *sandboxes = &c->broker->sandboxes;
	const char *no_volumes[] = {NULL};
	struct id id = id_new();
	const struct broker_create create = {
	        .kind = request->kind,
	        .sandbox = id.text,
	        .hostname = "probe",
	        .template_name = "host",
	        .network = request->network,
	        .cpu_milli = PROBE_CPU_MILLI,
	        .memory_bytes = PROBE_MEMORY_BYTES,
	        .pids = PROBE_PIDS,
	        .snapshot = "",
	        .volumes = no_volumes,
	        .review = "",
	        .warm = "",
	        .egress = request->egress,
	        .owner = "",
	};

	if (probe_is_running(sandboxes, request))
		return FAIL(err, ERROR_UNAVAILABLE, "an earlier probe has not ended yet");
	memcpy(id.text, BROKER_PROBE_PREFIX, sizeof(BROKER_PROBE_PREFIX) - 1);
	if (request->network && broker_kind_is_isolated(request->kind))
		guard_try_again(c->broker);
	return sandboxes_create(sandboxes, &c->reply, &create, false, err);
}
