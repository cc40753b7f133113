/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/check.h — what a request of atolld may contain. Pure rules, one function for each
 * row of the table of requests. */
#pragma once

#include "base/error.h"

/* A DNS label: 1 to 63 of [A-Za-z0-9-], not at either end. */
MUST_CHECK int check_hostname(const char *name, struct error *err);
MUST_CHECK int check_sandbox_id(const char *id, struct error *err);
MUST_CHECK int check_create(const void *request, struct error *err);
MUST_CHECK int check_id(const void *request, struct error *err);
/* The sandbox may be "": all. */
MUST_CHECK int check_list(const void *request, struct error *err);
MUST_CHECK int check_hello(const void *request, struct error *err);
MUST_CHECK int check_pool(const void *request, struct error *err);
MUST_CHECK int check_volume(const void *request, struct error *err);
MUST_CHECK int check_trash(const void *request, struct error *err);
MUST_CHECK int check_measure(const void *request, struct error *err);
MUST_CHECK int check_template(const void *request, struct error *err);
/* The request names a sandbox and a snapshot. */
MUST_CHECK int check_snapshot(const void *request, struct error *err);
MUST_CHECK int check_restore(const void *request, struct error *err);
MUST_CHECK int check_snapshot_id(const void *request, struct error *err);
MUST_CHECK int check_backup(const void *request, struct error *err);
MUST_CHECK int check_limit(const void *request, struct error *err);
MUST_CHECK int check_probe(const void *request, struct error *err);
MUST_CHECK int check_egress(const void *request, struct error *err);
