/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/checkpoint.h — whether processes can be written to disk and brought back here.
 *
 * CRIU depends on details of the kernel that no version number tells (Debian 12's, for one, does
 * not understand the vDSO of newer kernels), so it is tried. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct checkpoint_options {
	const char *criu;   /* the program; NULL = looked up in PATH */
	const char *folder; /* where a folder for the attempt can be made; NULL = /run */
};
/* Dumps and restores a small process of its own, and ends it; takes some tenths of a second, and
 * root. `version` (may be NULL) gets "criu 4.2". ERROR_UNSUPPORTED says what is missing: the
 * program, or what it said when it failed. Nothing is left. For a process that may fork. */
MUST_CHECK int checkpoint_probe(const struct checkpoint_options *options, char *version,
                                size_t version_size, struct error *err);
/* Why a sandbox cannot be: what the probe found, or else what of a sandbox no CRIU dumps
 * (docs/decisions/snapshots-and-layer-stacks.md). Always ERROR_UNSUPPORTED, or a failure to find
 * out. */
void checkpoint_refuse(const struct checkpoint_options *options, struct error *err);
