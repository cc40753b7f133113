/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/sealed_store.h — the store, opened with the keys that seal its secrets and with the first
 * key of DATA/admin.key. */
#pragma once

#include "base/error.h"

struct audit_log;
struct config;
struct data_folder;
struct seal;
struct store;

struct sealed_store {
	struct store *store;
	struct seal *seal;
	struct audit_log *audit; /* see sealed_store_open_audit */
};
struct sealed_store_options {
	struct arena *arena; /* lives as long as the store */
	const struct config *config;
	const struct data_folder *data;
	int key_fd; /* the open DATA/admin.key; -1: it is opened here */
};
/* After a failure *ret holds the parts that are open already. */
MUST_CHECK int sealed_store_open(const struct sealed_store_options *options,
                                 struct sealed_store *ret, struct error *err);
/* The audit of the server with this node. It writes to the store until the store is closed. */
MUST_CHECK int sealed_store_open_audit(struct sealed_store *s, struct arena *a,
                                       const struct config *config, const char *node,
                                       struct error *err);
void sealed_store_close(struct sealed_store *s); /* zeroed is fine */
