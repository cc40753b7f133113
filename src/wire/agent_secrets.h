/* SPDX-License-Identifier: Apache-2.0 */
/* wire/agent_secrets.h — a terminal with secrets: agent_exec.secrets, "KEY=value" over its `env`.
 *
 * The agent overwrites these values in the output before anybody reads it, and marks the process
 * with AGENT_EXEC_SECRET. AGENT_EXEC has them in a shape of its own: an agent that does not know it
 * refuses the message, so that no value gets into output without a mask. */
#pragma once

#include "wire/agent.h"

/* A flag of agent_process: it was started with secrets. Only the agent sets it. */
#define AGENT_EXEC_SECRET (1u << 10)

#define AGENT_SECRETS_MAX 8      /* of a process */
#define AGENT_SECRET_VALUE_MIN 8 /* bytes: shorter values occur by chance */
#define AGENT_SECRET_VALUE_MAX 1024

extern const struct wire_member agent_secret_exec_shape[];
