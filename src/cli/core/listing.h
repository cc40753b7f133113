/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/listing.h — prints a list of the server as a table or as one JSON array; follows all
 * pages. */
#pragma once

#include "cli/core/command.h"
#include "json/json.h"

struct listing_column {
	const char *head;   /* NULL ends the table */
	const char *member; /* of an item; NULL = `cell` gets the whole item */
	/* NULL prints the text or whole number unchanged. A result of NULL is printed as "-". */
	const char *(*cell)(struct arena *a, const struct json_value *value);
};

/* Functions for `cell`. */
const char *listing_texts(struct arena *a, const struct json_value *value); /* "a,b" */
const char *listing_yes(struct arena *a, const struct json_value *value);   /* NULL for false */
const char *listing_usd(struct arena *a, const struct json_value *value);
const char *listing_bytes(struct arena *a, const struct json_value *value); /* NULL for 0 */

/* Connects, gets all pages of the path and prints the items as a table, or as one array with
 * --json. */
MUST_CHECK int listing_run(struct cli *cli, const char *path, const struct listing_column *columns);
/* Prints items as a table. */
void listing_print(struct cli *cli, const struct json_value *items,
                   const struct listing_column *columns);
