/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/resources.h"

int resources_parse(const struct cli_arguments *args, struct sandbox_resources *ret,
                    struct error *err)
{
	struct sandbox_resources r = {0};

	if (arguments_number(args, "cpu", &r.cpu, err) < 0 ||
	    arguments_size_mb(args, "memory", &r.memory_mb, err) < 0 ||
	    arguments_size_mb(args, "disk", &r.disk_mb, err) < 0 ||
	    arguments_whole(args, "pids", 1, &r.pids, err) < 0)
		return -1;
	if (sandbox_resources_check(&r, err) < 0)
		return -1;
	*ret = r;
	return 0;
}
