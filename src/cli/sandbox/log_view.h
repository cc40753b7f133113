/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/log_view.h — shows the rows of a log of the server, or follows them: events,
 * activity.
 *
 * The command has the options --follow, --last and --after. */
#pragma once

#include "cli/core/listing.h"

struct log_view {
	const char *path;           /* without a query */
	const char *const *filters; /* options that are parameters of the query; NULL-terminated */
	const char *sandbox;        /* the parameter of that name; or NULL */
	const struct listing_column *columns;
	void (*print)(struct arena *a, const struct json_value *row); /* one line, when following */
	bool as_csv;
};
MUST_CHECK int log_view_run(struct cli *cli, const struct log_view *v);
