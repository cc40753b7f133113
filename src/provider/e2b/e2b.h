/* SPDX-License-Identifier: Apache-2.0 */
/* provider/e2b/e2b.h — E2B's API (https://e2b.dev) as a provider. Private to this folder. */
#pragma once

#include "provider/remote/parts.h"

struct json_value;

#define E2B_ENVD_PORT 49983

/* e2b.c: URL and headers of a port of a sandbox. */
MUST_CHECK int e2b_reach(struct remote *r, const struct remote_sandbox *s, uint16_t port,
                         struct remote_reach *ret, struct error *err);

/* A list of the service, which comes in pages. */
struct e2b_page_reader {
	const char *noun; /* in an error, such as "sandboxes" */
	const char *path; /* with its query; the page and its size are added */
	/* Of each item, which ends with the call. */
	void (*take_item)(void *context, const struct json_value *item);
	void *context;
};

/* pages.c: follows the header X-Next-Token; more than 200 pages of 100 items are an error. */
MUST_CHECK int e2b_read_pages(struct remote *r, const struct e2b_page_reader *l, int64_t deadline,
                              struct error *err);

/* snapshots.c: the account's id of a snapshot, in the arena; *ret = NULL: there is none. */
MUST_CHECK int e2b_account_snapshot(struct remote *r, struct arena *a, const char *snapshot,
                                    int64_t deadline, const char **ret, struct error *err);
extern const struct remote_snapshot_kind e2b_account_snapshots;

/* volumes.c */
extern const struct remote_volume_kind e2b_account_volumes;

/* envd.c: files and processes, see remote_kind. */
int e2b_put_file(struct remote *r, const struct remote_sandbox *s, const char *path,
                 struct span bytes, int64_t deadline, struct error *err);
int e2b_run(struct remote *r, const struct remote_sandbox *s, const struct remote_program *program,
            struct error *err);
