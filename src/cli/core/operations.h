/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/operations.h — the operations of the API with the members of their queries and bodies.
 *
 * operations.py makes the table from docs/api/openapi.json, which comes from the server's routes
 * and shapes. So the CLI knows them and links none of the server's code. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum member_kind {
	MEMBER_TEXT,
	MEMBER_WHOLE,
	MEMBER_NUMBER,
	MEMBER_BOOL,
	MEMBER_TEXTS, /* a list of texts */
	MEMBER_JSON,  /* any other type */
};

struct operation_member {
	const char *name; /* NULL ends the table */
	enum member_kind kind;
	int64_t min; /* of whole numbers */
	bool is_required, in_query;
};
struct api_operation {
	const char *name; /* "PATCH /v1/budgets/{budget}"; NULL ends the table */
	const struct operation_member *members; /* NULL = none */
};
extern const struct api_operation api_operations[];

/* Both return NULL if there is none. The name may be followed by '?' and a query. */
const struct api_operation *operation_find(const char *name);
const struct operation_member *operation_member_find(const struct api_operation *operation,
                                                     const char *name);
