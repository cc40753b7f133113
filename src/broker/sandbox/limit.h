/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/limit.h — limits and usage of processor, memory and processes. */
#pragma once

#include "base/error.h"

struct broker_create;
struct broker_usage;
struct cgroup_limits;
struct sandboxes;

struct cgroup_limits sandbox_limits_of(const struct broker_create *request);
/* BROKER_LIMIT. */
MUST_CHECK int sandboxes_limit(struct sandboxes *b, const char *id,
                               const struct cgroup_limits *wanted, struct error *err);
/* BROKER_STATS. */
MUST_CHECK int sandboxes_usage(struct sandboxes *b, const char *id, struct broker_usage *ret,
                               struct error *err);
