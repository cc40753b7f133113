/* SPDX-License-Identifier: Apache-2.0 */
/* agent/setup.h — applies the plan that the broker sends before the agent takes any request.
 *
 * On a SOCK_SEQPACKET socket: AGENT_SETUP frames, one per step of the plan
 * (isolation/isolation.h), and then AGENT_DONE, as many to a packet as fit; descriptors come with
 * any packet and are numbered in the order they come. The agent applies the plan and answers
 * AGENT_READY, or AGENT_FAILED and ends.
 *
 * AGENT_PREPARE in place of AGENT_DONE prepares a sandbox before a create: the agent answers with
 * its identity files, open for writing, waits for AGENT_CLAIM, and serves only then. */
#pragma once

#include "base/bytes.h"

struct isolation_prepared;
/* The agent's work before the plan came; ERROR_NONE = its first phase succeeded. */
struct setup_begun {
	struct isolation_prepared *prepared;
	const struct error *failure;
};
struct setup_result {
	int claim_fd;     /* of a prepared sandbox: `fd`, on which the claim comes; else -1 */
	int enclosure_fd; /* gVisor runs: see enclosure.h; else -1 */
};
/* Closes `fd` unless the sandbox is a prepared one. Appends the payload of an AGENT_WARM frame to
 * `wish`. */
MUST_CHECK int setup_run(int fd, const struct setup_begun *begun, struct setup_result *ret,
                         struct buf *wish, struct error *err);
/* Receives the claim. Fails also when the broker has disconnected. */
MUST_CHECK int setup_claim(int fd, struct error *err);
