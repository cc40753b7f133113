/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_kind.h — the kinds of sandboxes that the broker makes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum broker_kind {
	BROKER_NATIVE, /* isolated */
	BROKER_HOST,   /* processes of the host without isolation */
	BROKER_GVISOR, /* like native, and everything inside runs on gVisor's kernel */
	BROKER_KIND_COUNT,
};

/* Whether sandboxes of this kind have namespaces, a template and limits. */
static inline bool broker_kind_is_isolated(uint32_t kind)
{
	return kind != BROKER_HOST;
}
