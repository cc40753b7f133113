/* SPDX-License-Identifier: Apache-2.0 */
/* agent/setup.h — what the broker sends before the agent takes any request.
 *
 * On a SOCK_SEQPACKET socket: AGENT_SETUP frames, one per step of the plan
 * (isolation/isolation.h), and then AGENT_DONE, as many to a packet as fit; descriptors come with
 * any packet and are numbered in the order they come. The agent applies the plan and answers
 * AGENT_READY, or AGENT_FAILED and ends. */
#pragma once

#include "base/error.h"

/* Closes `fd`. */
MUST_CHECK int setup_run(int fd, struct error *err);
