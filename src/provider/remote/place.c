/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/reports.h"

#include <stdio.h>

#include "provider/remote/parts.h"

bool remote_place(struct provider *p, const char *id, struct provider_place *ret)
{
	struct remote_sandbox s;
	struct error unknown = {0};

	if (remote_record_find(as_remote(p), id, &s, &unknown) < 0)
		return false;
	*ret = (struct provider_place){.node = ""};
	(void)snprintf(ret->object, sizeof(ret->object), "%s", s.remote_id);
	(void)snprintf(ret->region, sizeof(ret->region), "%s", s.region);
	return true;
}

const struct report_ops remote_reports = {.place = remote_place};
