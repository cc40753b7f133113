/* SPDX-License-Identifier: Apache-2.0 */
/* provider/native/broker_pools.h — pools of the broker; only `native` has them. */
#pragma once

#include "provider/pool.h"

extern const struct pool_ops broker_pools;
