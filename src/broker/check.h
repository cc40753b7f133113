/* SPDX-License-Identifier: Apache-2.0 */
/* broker/check.h — what a request of atolld may say. Pure rules. Private to this folder. */
#pragma once

#include "base/error.h"
#include "wire/broker.h"

/* 1..63 of [a-z0-9._-], the first a letter or digit: never a path. */
MUST_CHECK int check_template_name(const char *name, struct error *err);
/* A DNS label: 1..63 of [A-Za-z0-9-], not at either end. */
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
/* Names both, or (of a removal) only the snapshot. */
MUST_CHECK int check_snapshot(const void *request, struct error *err);
MUST_CHECK int check_restore(const void *request, struct error *err);
MUST_CHECK int check_snapshot_id(const void *request, struct error *err);
MUST_CHECK int check_backup(const void *request, struct error *err);
MUST_CHECK int check_limit(const void *request, struct error *err);
MUST_CHECK int check_probe(const void *request, struct error *err);
MUST_CHECK int check_egress(const void *request, struct error *err);
