/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/resources.h"

#include <string.h>

#include "json/write.h"

bool names_image(const char *name)
{
	return strpbrk(name, ":/@") != NULL;
}

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

void resources_add(struct buf *body, const struct sandbox_resources *r)
{
	json_begin_object(body, "resources");
	json_add_number(body, "cpu", r->cpu);
	json_add_whole(body, "memory_mb", r->memory_mb);
	json_add_whole(body, "disk_mb", r->disk_mb);
	json_add_whole(body, "pids", r->pids);
	json_end_object(body);
}
