/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/identity.h — the user that the api process runs as. Private to this folder. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct identity {
	uid_t uid;
	gid_t gid;
	char name[64];
};
/* `wanted`, or when it is empty "atoll" if there is such a user, else "nobody". Refuses root. */
MUST_CHECK int identity_find(const char *wanted, struct identity *ret, struct error *err);
/* Becomes it for good: no group but its own, no capability, no way to gain any. */
MUST_CHECK int identity_become(const struct identity *identity, struct error *err);
