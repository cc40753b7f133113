/* SPDX-License-Identifier: Apache-2.0 */
/* isolation/identity_texts.h — the text of each identity file. */
#pragma once

#include "isolation/identity.h"

struct identity_file {
	const char *target, *text;
};
void identity_texts(struct arena *a, const struct isolation_identity *identity,
                    struct identity_file ret[ISOLATION_IDENTITY_FILES]);
