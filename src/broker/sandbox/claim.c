/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a prepared sandbox into a named one: all that two creates of one blueprint do not share. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "broker/sandbox/egress.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/sandbox/setup.h"
#include "wire/agent.h"

/* The broker sets the host name, because the agent has given up the right to. */
static int set_hostname(const struct sandbox *sandbox, struct error *err)
{
	int home = sandbox->sandboxes->host->names_fd, status = 0;

	if (setns(sandbox->pidfd, CLONE_NEWUTS) < 0)
		return FAIL_ERRNO(err, "enter the names of '%s'", sandbox->id);
	if (sethostname(sandbox->hostname, strlen(sandbox->hostname)) < 0)
		status = FAIL_ERRNO(err, "set the host name of '%s'", sandbox->id);
	if (setns(home, CLONE_NEWUTS) < 0)
		abort(); /* else the host names of later sandboxes would be set in this one */
	return status;
}

static int write_identity(const struct sandbox *sandbox, struct error *err)
{
	char machine_id[ID_HEX_SIZE];
	const struct isolation_identity identity = {sandbox->hostname, machine_id};

	id_to_hex(sandbox->id, machine_id);
	return isolation_identify(sandbox->identity_fds, &identity, err);
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
