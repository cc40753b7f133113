/* SPDX-License-Identifier: Apache-2.0 */
/* store/channels.h — chat channels of a project: the tokens of chat services. Tokens are stored
 * encrypted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/jobs.h"

struct arena;

struct channel_record {
	const char *id, *project_id;
	const char *name; /* unique in its project */
	enum job_channel kind;
	const char *base_url; /* "" = the service's default */
	const char *token;
	int64_t created_at, updated_at;
};
struct channel_list {
	struct channel_record *items; /* by name */
	size_t count;
};

/* Inserts or replaces the channel of that name. ERROR_LIMIT when the project would exceed
 * channels_max. */
MUST_CHECK int store_channel_put(struct store *s, const struct channel_record *r,
                                 unsigned channels_max, struct error *err);
struct channel_ref {
	const char *project_id, *name;
};
MUST_CHECK int store_channel_find(struct store *s, struct arena *a, const struct channel_ref *ref,
                                  struct channel_record *ret, struct error *err);
MUST_CHECK int store_channel_list(struct store *s, struct arena *a, const char *project_id,
                                  struct channel_list *ret, struct error *err);
MUST_CHECK int store_channel_remove(struct store *s, const struct channel_ref *ref,
                                    struct error *err);
