/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/request.h — checks of create requests. */
#pragma once

#include "base/error.h"
#include "sandbox/sandbox.h"

struct fleet;
struct fleet_create;

MUST_CHECK int request_check(const struct fleet_create *request, struct error *err);
/* Checks network rules: the provider can filter, and there is a network. NULL or "" = no rules. */
MUST_CHECK int egress_check(const struct fleet *f, enum sandbox_network network, const char *egress,
                            struct error *err);
