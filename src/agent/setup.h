/* SPDX-License-Identifier: Apache-2.0 */
/* agent/setup.h — what the broker sends before the agent takes any request.
 *
 * On a SOCK_SEQPACKET socket: an AGENT_SETUP packet per step of the plan (isolation/isolation.h),
 * each with at most one descriptor, numbered in the order they come; then AGENT_DONE. The agent
 * applies the plan and answers AGENT_READY, or AGENT_FAILED and ends. */
#pragma once

#include "base/error.h"

/* Closes `fd`. */
MUST_CHECK int setup_run(int fd, struct error *err);
