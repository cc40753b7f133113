/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/identity.h — the files that say who a sandbox is. Private to this folder. */
#pragma once

#include "isolation/isolation.h"

struct identity_file {
	const char *target, *text;
};
void identity_texts(struct arena *a, const struct isolation_identity *identity,
                    struct identity_file ret[ISOLATION_IDENTITY_FILES]);
