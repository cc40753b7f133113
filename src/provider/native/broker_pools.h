/* SPDX-License-Identifier: Apache-2.0 */
/* provider/broker_pools.h — pools, held by the broker: only `native` has them. */
#pragma once

#include "provider/pool.h"

extern const struct pool_ops broker_pools;
