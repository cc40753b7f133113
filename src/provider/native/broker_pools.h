/* SPDX-License-Identifier: Apache-2.0 */
/* provider/native/broker_pools.h — pools of the broker; only `native` has them. */
#pragma once

struct pool_ops;

extern const struct pool_ops broker_pools;
