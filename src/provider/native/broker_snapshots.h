/* SPDX-License-Identifier: Apache-2.0 */
/* provider/broker_snapshots.h — snapshots, made by the broker: only `native` has them. */
#pragma once

#include "provider/snapshots.h"

extern const struct snapshot_ops broker_snapshots;
