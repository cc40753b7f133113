/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes as the native ones, in which everything runs on the kernel of gVisor: a second boundary
 * before this machine's kernel. The broker makes them with the Debian package runsc. */
#include <unistd.h>

#include "provider/native/broker_provider.h"

#define RUNSC "/usr/bin/runsc"

static int gvisor_open(const struct provider_options *options, struct provider **ret,
                       struct error *err)
{
	if (access(RUNSC, X_OK) < 0) {
		error_set(err, ERROR_UNAVAILABLE, 0, HERE,
		          "the provider 'gvisor' needs the program '" RUNSC "'");
		return FAIL_HINT(err, "install the Debian package runsc");
	}
	return broker_provider_open(options, &provider_gvisor, BROKER_GVISOR, ret, err);
}

const struct provider_ops provider_gvisor = {
        .name = "gvisor",
        .isolation = "gvisor",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_LIMIT |
                     PROVIDER_CAN_LIMIT_DISK | PROVIDER_CAN_ISOLATE | PROVIDER_SURVIVES |
                     PROVIDER_CAN_TEMPLATE | PROVIDER_CAN_PAUSE | PROVIDER_CAN_MEASURE |
                     PROVIDER_CAN_FILTER | PROVIDER_CAN_LEAVE_BY | PROVIDER_CAN_DIAL |
                     PROVIDER_CAN_SNAPSHOT | PROVIDER_CAN_BACKUP | PROVIDER_CAN_VOLUME |
                     PROVIDER_CAN_REVIEW | PROVIDER_CAN_BUILD | PROVIDER_CAN_CUT,
        .filter = broker_provider_filter,
        .open = gvisor_open,
        .snapshots = &broker_snapshots,
        .volumes = &broker_provider_volumes,
        .compute = &broker_provider_carrying_compute,
        BROKER_PROVIDER_OPS,
};
