/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/quota.h — quotas: limits of a project, a key or an organisation. quota.c has a row for
 * each limit; all that must be known of one is there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct buf;

enum quota_scope { QUOTA_PROJECT, QUOTA_KEY, QUOTA_ORGANIZATION, QUOTA_SCOPE_COUNT };
extern const char *const quota_scopes[]; /* "project", …; NULL-terminated */

enum quota_limit {
	QUOTA_SANDBOXES_RUNNING,
	QUOTA_SANDBOXES_STOPPED,
	QUOTA_CPU,
	QUOTA_MEMORY_MB,
	QUOTA_DISK_MB,
	QUOTA_CREATES_PER_MINUTE,
	QUOTA_REQUESTS_PER_SECOND,
	QUOTA_EGRESS_MB_PER_DAY,
	QUOTA_LIMIT_COUNT
};

enum quota_kind {
	QUOTA_AMOUNT, /* of the sandboxes that exist now */
	QUOTA_WINDOW, /* of a minute; counted in the store */
	QUOTA_RATE,   /* of requests; counted by each server, which has its part of the rate */
	QUOTA_DAY,    /* of a UTC day; counted in the store as usage is written */
};
/* What makes the use grow. */
enum quota_event { QUOTA_ON_CREATE, QUOTA_ON_START, QUOTA_ON_RESIZE, QUOTA_ON_UNDELETE };

struct quota_limit_row {
	const char *name, *unit, *about;
	enum quota_kind kind;
	unsigned checked_by; /* mask of 1 << enum quota_event */
};
extern const struct quota_limit_row quota_limits[QUOTA_LIMIT_COUNT];
/* QUOTA_LIMIT_COUNT for an unknown name. */
enum quota_limit quota_limit_find(const char *name);
/* QUOTA_SCOPE_COUNT for an unknown name. */
enum quota_scope quota_scope_find(const char *name);

#define QUOTA_WINDOW_MS INT64_C(60000)
#define QUOTA_DAY_MS INT64_C(86400000)
/* When the UTC day of this time begins; unix ms. */
int64_t quota_day(int64_t now);
/* Bytes in the unit of QUOTA_EGRESS_MB_PER_DAY. */
double quota_egress_mb(int64_t bytes);

/* What the sandboxes of a subject use. */
struct quota_use {
	int64_t sandboxes_running; /* with a process: also paused ones */
	int64_t sandboxes_stopped; /* with files only: also archived ones */
	double cpu;
	int64_t memory_mb; /* of running ones */
	int64_t disk_mb;   /* of running and stopped ones */
};
double quota_used(const struct quota_use *use, enum quota_limit limit);

struct quota_refusal {
	const char *scope, *subject;
	enum quota_limit limit;
	double value, used;
	int64_t reset_at, now; /* reset_at: unix ms; 0 = when the use falls */
};
/* Fills err with ERROR_LIMIT, what is used up, and when a retry has a chance. Counts the refusal.
 * Always -1. */
int quota_refuse(const struct quota_refusal *refusal, struct error *err);
/* atoll_quota_refusals_total{limit="…"}. */
void quota_write_metrics(struct buf *out);
