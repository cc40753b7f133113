/* SPDX-License-Identifier: Apache-2.0 */
/* provider/daytona/daytona.h — Daytona's API (https://www.daytona.io) as a provider. Private to
 * this folder.
 *
 * In struct remote_sandbox `base` is the preview URL of the agent's port, `traffic` its token, and
 * `access` the URL of the sandbox's toolbox. */
#pragma once

#include "provider/remote/parts.h"

/* snapshots.c */
extern const struct remote_snapshot_kind daytona_account_snapshots;

/* volumes.c */
extern const struct remote_volume_kind daytona_account_volumes;

/* network.c */
struct daytona_rules {
	bool is_blocked;
	const char *egress; /* see sandbox/egress.h; NULL or "" = no rules */
	bool is_change;     /* of a sandbox that may have other rules */
};
/* Members of a create or of a change. ERROR_UNSUPPORTED for rules that the service does not know.
 */
MUST_CHECK int daytona_network_write(const struct remote *r, struct arena *a, struct buf *out,
                                     const struct daytona_rules *wanted, struct error *err);
/* See remote_kind. */
int daytona_filter(struct remote *r, const struct remote_sandbox *s, const char *egress,
                   int64_t deadline, struct error *err);

/* usage.c: see remote_kind. */
int daytona_usage(struct remote *r, const struct remote_sandbox *all, size_t count,
                  int64_t deadline, struct remote_usage *ret, struct error *err);

/* toolbox.c: files and processes, see remote_kind. */
int daytona_put_file(struct remote *r, const struct remote_sandbox *s, const char *path,
                     struct span bytes, int64_t deadline, struct error *err);
int daytona_run(struct remote *r, const struct remote_sandbox *s,
                const struct remote_program *program, struct error *err);
