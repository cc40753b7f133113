/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/identity.h — the unprivileged user of the api process. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct identity {
	uid_t uid;
	gid_t gid;
	gid_t docker; /* of the Docker daemon's socket, which the user may open, too; 0 = none */
	char name[64];
};
/* Finds `wanted`; if it is "", "atoll" if that user exists, else "nobody". Refuses root. */
MUST_CHECK int identity_find(const char *wanted, struct identity *ret, struct error *err);
/* Becomes the user for good: only its own group and that of the daemon, no capability, no way to
 * gain any. */
MUST_CHECK int identity_become(const struct identity *identity, struct error *err);
