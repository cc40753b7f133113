/* SPDX-License-Identifier: Apache-2.0 */
/* broker/probe.h — sandboxes that are made and ended at once, to find out whether sandboxes can be
 * made. Private to this folder.
 *
 * A probe is a sandbox with a reserved id (wire/broker_probe.h) that takes the whole path of a
 * create: prewarmed sandbox, limits, rules, files, agent. It takes no prepared sandbox and does not
 * change what the pools prepare. The broker ends it, also when atolld has gone meanwhile; a later
 * broker ends what an earlier one left. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "broker/owed.h"
#include "wire/broker.h"

struct sandbox;
struct sandboxes;
struct broker;

/* Whether this id is the id of a probe. */
bool probe_is_id(const char *id);
/* BROKER_PROBE, checked by the caller; the answer comes later unless it fails. ERROR_UNAVAILABLE:
 * an earlier probe of the same kind has not ended. */
MUST_CHECK int probe_start(struct broker *b, const struct pending_reply *reply,
                           const struct broker_probe *request, struct error *err);
/* Kills the sandbox of a probe, with its files, as soon as it runs; other sandboxes are left alone.
 */
void probe_end(struct sandbox *sandbox);
/* At the broker's start: puts files of probes without a process into the trash. */
void probes_sweep(struct sandboxes *b);
