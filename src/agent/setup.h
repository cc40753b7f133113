/* SPDX-License-Identifier: Apache-2.0 */
/* agent/setup.h — what the broker sends before the agent takes any request.
 *
 * On a SOCK_SEQPACKET socket: AGENT_SETUP frames, one per step of the plan
 * (isolation/isolation.h), and then AGENT_DONE, as many to a packet as fit; descriptors come with
 * any packet and are numbered in the order they come. The agent applies the plan and answers
 * AGENT_READY, or AGENT_FAILED and ends.
 *
 * AGENT_PREPARE in place of AGENT_DONE means that nobody has asked for this sandbox yet: the agent
 * answers with the files that say who it is, open for writing, waits for AGENT_CLAIM and serves
 * only then. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct isolation_prepared;
/* What the agent has done before the plan came; ERROR_NONE = its first phase is done. */
struct setup_begun {
	struct isolation_prepared *prepared;
	const struct error *failure;
};
/* Closes `fd`, or hands it back as the one on which the claim comes; else that is -1. An AGENT_WARM
 * among the frames is for later: its payload is added to `wish`. */
MUST_CHECK int setup_run(int fd, const struct setup_begun *begun, int *ret_claim_fd,
                         struct buf *wish, struct error *err);
/* Takes the claim. Fails, too, when the broker has gone. */
MUST_CHECK int setup_claim(int fd, struct error *err);
