/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_claim.h — what the broker tells the agent of a prepared sandbox. */
#pragma once

#include "wire/wire.h"

/* Gives a prepared sandbox its identity. Its host name is set before. */
struct agent_claim {
	const char *hostname;
	const char *machine_id;
};
extern const struct wire_member agent_claim_shape[];
