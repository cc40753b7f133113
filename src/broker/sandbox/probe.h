/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/probe.h — sandboxes that are made and ended at once, to find out whether sandboxes
 * can be made.
 *
 * A probe is a sandbox with a reserved id (wire/broker_probe.h) that takes the whole path of a
 * create: prewarmed sandbox, limits, rules, files, agent. It takes no prepared sandbox and does not
 * change what the pools prepare. The broker ends it, even if atolld has gone meanwhile; a later
 * broker ends what an earlier one left. */
#pragma once

#include <stdbool.h>

struct broker_probe;
struct sandbox;
struct sandboxes;

/* Whether this is the id of a probe. */
bool probe_is_id(const char *id);
/* Whether a probe of the same kind has not ended yet. */
bool probe_is_running(const struct sandboxes *b, const struct broker_probe *request);
/* Kills the sandbox of a probe, with its files, as soon as it runs; other sandboxes are left alone.
 */
void probe_end(struct sandbox *sandbox);
/* At the broker's start: moves the files of probes without a process to the trash. */
void probes_sweep(struct sandboxes *b);
