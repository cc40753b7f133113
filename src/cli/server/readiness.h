/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/readiness.h — what a server's GET /readyz says of this host: the one that runs, or a
 * temporary one. Private to this folder. */
#pragma once

#include <stdbool.h>

#include "cli/command.h"
#include "json/json.h"

struct readiness_report {
	const char *asked;   /* the address; "" = a temporary server */
	const char *skipped; /* NULL, or why the server of ATOLL_API_URL was not asked */
	bool is_ready;
	const char *text;                /* the answer as it came; NULL = there is none … */
	const struct json_value *answer; /* the same … */
	struct error failure;            /* … and why */
};
/* The server of ATOLL_API_URL unless a data folder is `given`, else the folder's, else a temporary
 * one. */
void readiness_ask(struct cli *cli, const char *data_dir, bool is_given,
                   struct readiness_report *ret);
void readiness_add_text(struct arena *a, const struct readiness_report *report, struct buf *out);
void readiness_add_json(const struct readiness_report *report, struct buf *out);
