/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a prepared sandbox into a named one: all that two creates of one blueprint do not share. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "broker/host/launcher.h"
#include "broker/prewarm/prewarm.h"
#include "broker/sandbox/egress.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/sandbox/setup.h"
#include "isolation/identity.h"
#include "wire/agent.h"

/* The agent has given up the right to do this. */
static int set_hostname(const struct sandbox *sandbox, struct error *err)
{
	const struct wire_fds fds = {.fds = {sandbox->pidfd}, .count = 1};
	struct launch_hostname request;

	(void)snprintf(request.name, sizeof(request.name), "%s", sandbox->hostname);
	return launcher_call(sandbox->sandboxes->host, LAUNCH_HOSTNAME, &request, &fds, NULL, err);
}

static int write_identity(const struct sandbox *sandbox, struct error *err)
{
	char machine_id[ID_HEX_SIZE];
	const struct isolation_identity identity = {sandbox->hostname, machine_id};

	id_to_hex(sandbox->id, machine_id);
	return isolation_identify(sandbox->identity_files->fds, &identity, err);
}

/* Nothing of the claim can fail in the agent, so the broker waits for no answer. */
static int send_claim(const struct sandbox *sandbox, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(64);

	if (wire_encode(&frame, AGENT_CLAIM, NULL, NULL, err) < 0)
		return -1;
	return wire_send_packet(sandbox->prewarm->setup_fd, buf_span(&frame), NULL,
	                        deadline_after(0), err);
}

int sandbox_claim(struct sandbox *sandbox, struct error *err)
{
	sandbox->created_unix_ms = clock_unix_ms();
	fault_point("broker", "pool-claim");
	if (fault_failure("broker", "pool-claim", err) < 0 ||
	    sandbox_apply_egress(sandbox, err) < 0 || write_identity(sandbox, err) < 0 ||
	    set_hostname(sandbox, err) < 0)
		return -1;
	sandbox_step(sandbox, "identity");
	fault_point("broker", "pool-claimed");
	if (fault_failure("broker", "pool-claimed", err) < 0 || sandbox_publish(sandbox, err) < 0 ||
	    fault_failure("broker", "pool-named", err) < 0)
		return -1;
	sandbox_step(sandbox, "names");
	if (send_claim(sandbox, err) < 0)
		return -1;
	sandbox_step(sandbox, "claim");
	return 0;
}
