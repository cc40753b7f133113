/* SPDX-License-Identifier: Apache-2.0 */
/* provider/native/broker_snapshots.h — snapshots of the broker; only `native` has them. */
#pragma once

struct snapshot_ops;

extern const struct snapshot_ops broker_snapshots;
