/* SPDX-License-Identifier: Apache-2.0 */
/* agent/plain_statx.h — makes ls and stat of coreutils work in gVisor.
 *
 * gVisor of Debian 12 refuses AT_NO_AUTOMOUNT with EINVAL, which these programs take for the
 * answer. Where the kernel does that, programs of the GNU C library load a statx that leaves the
 * flag out (preload/plain_statx.c): the plan has put a file of the sandbox's memory in the place of
 * /etc/ld.so.preload. Programs of other C libraries ignore it. */
#pragma once

#include "base/error.h"

MUST_CHECK int plain_statx_install(struct error *err);
