/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/isolation.h — whether this host can isolate sandboxes.
 *
 * The folder has the Linux primitives for a sandbox, and its plan: plan.h turns a description into
 * an ordered array of steps, without touching anything. `atoll plan` prints them, unit tests read
 * them, and the agent, as process 1 of its new namespaces, applies them in one loop (apply.h)
 * before it takes a request. What needs the host's root (layers, cgroups, the network) is done by
 * the broker in advance and comes in as descriptors of detached mounts. Nothing here keeps state.
 */
#pragma once

#include "base/error.h"

/* ERROR_UNSUPPORTED names what is missing: kernel 5.19, user namespaces, overlay … */
MUST_CHECK int isolation_check_host(struct error *err);
