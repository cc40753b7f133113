/* SPDX-License-Identifier: Apache-2.0 */
/* store/addresses.h — e-mail addresses in upper case, which versions before 0.1 compared exactly.
 *
 * A user is stored in lower case now. Where two users, or two members of one project, would become
 * the same, both stay as they are: each is found by its exact spelling. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct store;

struct address_record {
	const char *kind;    /* "user", "member of project", "member of organization" */
	const char *place;   /* id of the user, project or organisation */
	const char *address; /* as it is stored */
};
struct address_list {
	struct address_record *items;
	size_t count;
};
struct address_page {
	int64_t limit;
};
#define STORE_ADDRESSES_TOLD 50

/* Writes addresses in lower case, those of keys, invitations and sandboxes too. Lists up to
 * STORE_ADDRESSES_TOLD that stay, and how many were written. A second call changes nothing. */
MUST_CHECK int store_addresses_lower(struct store *s, struct arena *a, struct address_list *ret,
                                     int64_t *ret_lowered, struct error *err);
/* Whether a user or a member has exactly this name. */
MUST_CHECK int store_address_is_named(struct store *s, const char *address, bool *ret,
                                      struct error *err);
