/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_egress.h — the network rules of a running sandbox: part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

#define BROKER_EGRESS_MAX (96 * 1024) /* bytes; more than SANDBOX_EGRESS_TOLD_MAX */
struct broker_egress {
	uint64_t request;
	const char *sandbox;
	const char *egress; /* as in sandbox/egress.h; "" = no rules */
};
extern const struct wire_member broker_egress_shape[];
