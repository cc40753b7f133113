/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/egress.h — network rules of a sandbox in requests and answers. */
#pragma once

#include "json/json.h"

struct native_egress {
	const char **allow, **deny;
	const char **presets;     /* of a request: their hosts are allowed, all else is denied */
	const char **credentials; /* of a request: the same, and the rules of their presets */
	struct json_list rules;   /* of struct credential_rule */
	int mode;                 /* enum egress_mode; -1 in an answer: enforce */
};
extern const struct json_shape native_egress_shape;
/* `rules`: as in struct sandbox_record. */
struct native_egress native_egress_parse(struct arena *a, const char *text, const char *rules);
/* The format is described in sandbox/egress.h. */
MUST_CHECK int native_egress_format(struct arena *a, const struct native_egress *body,
                                    const char **ret, struct error *err);
struct fleet_create;
struct fleet_ref;
struct request;
struct sandbox_record;
/* Replaces all rules of a sandbox. */
MUST_CHECK int native_egress_set(struct request *rq, const struct fleet_ref *ref,
                                 const struct native_egress *body, struct sandbox_record *ret,
                                 struct error *err);
/* The rules of a create. */
MUST_CHECK int native_egress_prepare(struct request *rq, const struct native_egress *body,
                                     struct fleet_create *ret, struct error *err);
/* Why a quota cuts the network, as a sentence; NULL: it does not. */
const char *native_egress_cut(struct arena *a, const char *cut);
