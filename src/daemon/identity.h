/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/identity.h — the unprivileged user of the api process. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

#define IDENTITY_GROUPS_MAX 16

struct identity {
	uid_t uid;
	gid_t gid;
	/* Of the sockets of Docker daemons, which the user may open, too. */
	gid_t docker[IDENTITY_GROUPS_MAX];
	size_t docker_count;
	char name[64];
};
/* Finds `wanted`; if it is "", "atoll" if that user exists, else "nobody". Refuses root. */
MUST_CHECK int identity_find(const char *wanted, struct identity *ret, struct error *err);
/* Becomes the user for good: only its own group and those of the daemons, no capability, no way to
 * gain any. */
MUST_CHECK int identity_become(const struct identity *identity, struct error *err);
