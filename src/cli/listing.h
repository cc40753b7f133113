/* SPDX-License-Identifier: Apache-2.0 */
/* cli/listing.h — a list of the server's, as people read it or as one JSON array. Private to this
 * folder.
 *
 * A listing is a table of columns; all pages of the answer are followed. */
#pragma once

#include "cli/command.h"
#include "json/json.h"

struct listing_column {
	const char *head;   /* NULL ends the table */
	const char *member; /* of an item; NULL = `cell` gets the item itself */
	/* NULL: the text or the whole number as it is. An answer of NULL is shown as "-". */
	const char *(*cell)(struct arena *a, const struct json_value *value);
};

/* Cells for columns. */
const char *listing_texts(struct arena *a, const struct json_value *value); /* "a,b" */
const char *listing_usd(struct arena *a, const struct json_value *value);
const char *listing_bytes(struct arena *a, const struct json_value *value); /* 0 = NULL */

/* Connects, gets all pages of path, prints the items: as a table, or with --json as one array. */
MUST_CHECK int listing_run(struct cli *cli, const char *path, const struct listing_column *columns);
/* Items that are there already, as a table. */
void listing_print(struct cli *cli, const struct json_value *items,
                   const struct listing_column *columns);
