/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/readiness.h — the answer of GET /readyz from the running server, or from a temporary
 * one. */
#pragma once

#include <stdbool.h>

#include "cli/core/command.h"
#include "json/json.h"

struct readiness_report {
	const char *asked;   /* address of the server; "" = a temporary server */
	const char *skipped; /* why the server of ATOLL_API_URL was not asked; NULL = it was */
	bool is_ready;
	const char *text;                /* the raw answer; NULL = none, see `failure` */
	const struct json_value *answer; /* the parsed answer */
	struct error failure;
};
/* Asks the server of ATOLL_API_URL unless a data folder `is_given`, else the folder's server, else
 * a temporary server. */
void readiness_ask(struct cli *cli, const char *data_dir, bool is_given,
                   struct readiness_report *ret);
void readiness_add_text(struct arena *a, const struct readiness_report *report, struct buf *out);
void readiness_add_json(const struct readiness_report *report, const char *name, struct buf *out);
