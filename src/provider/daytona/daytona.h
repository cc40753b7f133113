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

/* toolbox.c: files and processes, see remote_kind. */
int daytona_put_file(struct remote *r, const struct remote_sandbox *s, const char *path,
                     struct span bytes, int64_t deadline, struct error *err);
int daytona_run(struct remote *r, const struct remote_sandbox *s,
                const struct remote_program *program, struct error *err);
