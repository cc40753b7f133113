/* SPDX-License-Identifier: Apache-2.0 */
/* A process group and a folder per sandbox on the bare machine, for a single developer who would
 * run the same commands in a shell. It isolates and limits nothing; commands only do not get the
 * server's environment. */
#include "base/log.h"
#include "provider/native/broker_provider.h"

static int host_open(const struct provider_options *options, struct provider **ret,
                     struct error *err)
{
	if (broker_provider_open(options, &provider_host, BROKER_HOST, ret, err) < 0)
		return -1;
	log_warning("provider 'host' isolates nothing: for single-tenant development only");
	return 0;
}

const struct provider_ops provider_host = {
        .name = "host",
        .isolation = "none",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_STATS | PROVIDER_SURVIVES | PROVIDER_CAN_TEMPLATE |
                     PROVIDER_CAN_PAUSE | PROVIDER_CAN_DIAL | PROVIDER_CAN_MEASURE,
        .open = host_open,
        .compute = &broker_provider_compute,
        BROKER_PROVIDER_OPS,
};
