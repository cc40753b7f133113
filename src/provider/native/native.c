/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes of this machine's kernel: namespaces, their own uid range, cgroup limits, an overlay on
 * a template, a seccomp filter. The broker makes them. */
#include "provider/native/broker_provider.h"

static int native_open(const struct provider_options *options, struct provider **ret,
                       struct error *err)
{
	return broker_provider_open(options, &provider_native, BROKER_NATIVE, ret, err);
}

const struct provider_ops provider_native = {
        .name = "native",
        .isolation = "namespaces",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_LIMIT |
                     PROVIDER_CAN_LIMIT_DISK | PROVIDER_CAN_ISOLATE | PROVIDER_SURVIVES |
                     PROVIDER_CAN_TEMPLATE | PROVIDER_CAN_PAUSE | PROVIDER_CAN_SNAPSHOT |
                     PROVIDER_CAN_VOLUME | PROVIDER_CAN_POOL | PROVIDER_CAN_DIAL |
                     PROVIDER_CAN_FILTER | PROVIDER_CAN_LEAVE_BY | PROVIDER_CAN_MEASURE |
                     PROVIDER_CAN_REVIEW | PROVIDER_CAN_BACKUP | PROVIDER_CAN_BUILD |
                     PROVIDER_CAN_CUT,
        .filter = broker_provider_filter,
        .open = native_open,
        .snapshots = &broker_snapshots,
        .volumes = &broker_provider_volumes,
        .pools = &broker_pools,
        .compute = &broker_provider_compute,
        BROKER_PROVIDER_OPS,
};
