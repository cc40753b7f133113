/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/agent_stop.h"

#include "base/clock.h"
#include "base/fd.h"
#include "provider/compute.h"
#include "provider/kinds.h"
#include "wire/agent.h"

#define CALL_MS 2000

int agent_stop_begin(struct provider *p, const char *id, int64_t grace_ms)
{
	AUTO(buf_done) struct buf frame = BUF(64);
	const struct agent_stop message = {.grace_ms = (uint64_t)(grace_ms > 0 ? grace_ms : 0)};
	int64_t deadline = deadline_after(CALL_MS);
	struct error ignored = {0};
	AUTO_CLOSE int fd = -1;

	if (p->ops->compute->connect(p, id, deadline, &fd, &ignored) < 0 ||
	    wire_encode(&frame, AGENT_STOP, agent_stop_shape, &message, &ignored) < 0 ||
	    wire_send(fd, buf_span(&frame), deadline, &ignored) < 0)
		return -1;
	return TAKE_FD(fd);
}
