/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/egress.h — network rules of a sandbox in requests and answers. */
#pragma once

#include "json/json.h"

struct native_egress {
	const char **allow, **deny;
	const char **presets; /* of a request: their hosts are allowed, all else is denied */
	int mode;             /* enum egress_mode; -1 in an answer: enforce */
};
extern const struct json_shape native_egress_shape;
struct native_egress native_egress_parse(struct arena *a, const char *text);
/* The format is described in sandbox/egress.h. */
MUST_CHECK int native_egress_format(struct arena *a, const struct native_egress *body,
                                    const char **ret, struct error *err);
