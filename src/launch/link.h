/* SPDX-License-Identifier: Apache-2.0 */
/* launch/link.h — a sandbox's network namespace and its link to the host
 * (broker/network/network.h). */
#pragma once

#include "base/error.h"

struct buf;
struct launch_agent;

/* Moves the calling process into a new network namespace with loopback and, if the agent has an
 * address, the link. `proc`: from link_options_open; good for several calls. */
MUST_CHECK int link_enter_new(const struct launch_agent *agent, int proc, struct error *err);
MUST_CHECK int link_options_open(int *ret_proc, struct error *err);
/* The two netlink batches of link_enter_new, for tests: for the host's namespace and for the new
 * one. */
void link_host_batch(struct buf *out, const struct launch_agent *agent, int namespace_fd);
void link_inside_batch(struct buf *out, const struct launch_agent *agent);
