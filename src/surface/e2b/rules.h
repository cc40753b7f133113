/* SPDX-License-Identifier: Apache-2.0 */
/* surface/e2b/rules.h — E2B's rules for requests of a sandbox, as rules of credentials. Private
 * to this folder. */
#pragma once

#include "base/bytes.h"

#define E2B_RULES_SOURCE "e2b" /* the mark of these rules among those of a sandbox */

struct arena;
struct credential_rules;
struct e2b_access;
struct e2b_network;
struct fleet_create;
struct request;
struct sandbox_record;

/* The rules of a request, whose literal values are kept from now on; none: an empty list. A sandbox
 * that may reach everything gets network rules that lead its connections through the gateway. */
MUST_CHECK int e2b_rules_read(struct request *rq, const struct e2b_network *n,
                              struct e2b_access *access, struct credential_rules *ret,
                              struct error *err);
/* Puts access and rules into a create. */
MUST_CHECK int e2b_rules_prepare(struct request *rq, const struct e2b_network *n,
                                 struct e2b_access *access, struct fleet_create *ret,
                                 struct error *err);
/* The rules of a sandbox as E2B's clients see them, without values; no bytes: there are none. */
struct span e2b_rules_show(struct arena *a, const struct sandbox_record *r);
