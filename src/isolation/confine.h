/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/confine.h — what the broker's children give up before they start another program.
 *
 * A view is a mount namespace that a process enters. Views are made once, because making and ending
 * a namespace waits for all processors. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* A view whose "/" is the folder, which lies at `path`, and which has nothing else. Programs and
 * devices in it do not work. Needs a process with one thread. */
MUST_CHECK int view_of_folder(int folder, const char *path, int *ret_fd, struct error *err);
/* A view of the host's files where nothing can be written. */
MUST_CHECK int view_of_host(int *ret_fd, struct error *err);
MUST_CHECK int view_enter(int view, struct error *err);
#define CAPABILITY_BIT(capability) (UINT64_C(1) << (capability))
/* The next execve of root gives only these capabilities: bits of CAP_*. */
MUST_CHECK int confine_bounding_set(uint64_t kept, struct error *err);
/* The same, and nothing gives them back: set-uid programs neither. */
MUST_CHECK int confine_capabilities(uint64_t kept, struct error *err);
