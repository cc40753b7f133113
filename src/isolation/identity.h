/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/identity.h — the identity of a sandbox, as its files state it.
 *
 * A prepared sandbox has no name. When a create claims it, the broker writes its files. The agent
 * opens them after isolation_apply, before anything else runs inside, and hands them to the broker.
 * The broker also sets the host name itself. */
#pragma once

#include "base/error.h"

#define ISOLATION_IDENTITY_FILES 3
struct isolation_identity {
	const char *hostname, *machine_id;
};
MUST_CHECK int isolation_identity_open(int ret_fds[ISOLATION_IDENTITY_FILES], struct error *err);
MUST_CHECK int isolation_identify(const int fds[ISOLATION_IDENTITY_FILES],
                                  const struct isolation_identity *identity, struct error *err);
