/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/events.h — what can happen: one table of kinds, which the store writes, callers filter by
 * and webhooks are made for.
 *
 * A kind is "SUBJECT.VERB". A new one is a row in events.c; words may be added to, never changed:
 * they are in databases and in other people's programs. */
#pragma once

#include <stdbool.h>

#include "sandbox/sandbox.h"

enum event_kind {
	EVENT_SANDBOX_CREATED,  /* recorded; about to be made */
	EVENT_SANDBOX_STARTING, /* made by a worker, or started again */
	EVENT_SANDBOX_STARTED,
	EVENT_SANDBOX_PAUSED,
	EVENT_SANDBOX_RESUMED,
	EVENT_SANDBOX_STOPPING,
	EVENT_SANDBOX_STOPPED,
	EVENT_SANDBOX_ARCHIVED,
	EVENT_SANDBOX_DELETING,
	EVENT_SANDBOX_DELETED,
	EVENT_SANDBOX_FAILED,
	EVENT_SANDBOX_UPDATED,      /* its settings, environment, preview or egress */
	EVENT_SANDBOX_RESIZED,      /* its limits */
	EVENT_SANDBOX_UNRESPONSIVE, /* its agent does not answer */
	EVENT_COMMAND_LIMITED,      /* a limit ended a command in it */
	EVENT_BUDGET_WARNED,        /* so much of it is spent that somebody should know */
	EVENT_BUDGET_EXCEEDED,      /* all of it is */
	EVENT_BUDGET_CREATED,
	EVENT_BUDGET_UPDATED,
	EVENT_BUDGET_DELETED,
	EVENT_SNAPSHOT_CREATED,
	EVENT_SNAPSHOT_DELETED,
	EVENT_SNAPSHOT_LOST,  /* its files are gone, and nobody has removed them */
	EVENT_LEASE_ACQUIRED, /* it has got a sandbox, or that has got new files */
	EVENT_LEASE_RELEASED,
	EVENT_LEASE_DELETED,
	EVENT_VOLUME_CREATED,
	EVENT_VOLUME_DELETED,
	EVENT_VOLUME_ATTACHED,
	EVENT_VOLUME_DETACHED,
	EVENT_VOLUME_GROWN,
	EVENT_TEMPLATE_CREATED,
	EVENT_TEMPLATE_UPDATED,
	EVENT_TEMPLATE_DELETED,
	EVENT_TEMPLATE_READY, /* what was being imported is there now */
	EVENT_TEMPLATE_FAILED,
	EVENT_BUILD_STARTED, /* its turn has come */
	EVENT_BUILD_READY,
	EVENT_BUILD_FAILED,
	EVENT_BUILD_CANCELLED,
	EVENT_BACKUP_READY,
	EVENT_BACKUP_FAILED,
	EVENT_BACKUP_DELETED,
	EVENT_KEY_CREATED,
	EVENT_KEY_ROTATED,
	EVENT_KEY_REVOKED,
	EVENT_PROJECT_CREATED,
	EVENT_PROJECT_DELETED, /* nothing of it is left */
	EVENT_PROJECT_UPDATED, /* its name, settings or defaults */
	EVENT_MEMBER_ADDED,
	EVENT_MEMBER_UPDATED,
	EVENT_MEMBER_REMOVED,
	EVENT_JOB_COMPLETED,
	EVENT_JOB_FAILED,
	EVENT_JOB_STOPPED,    /* somebody asked for its end */
	EVENT_AGENT_FINISHED, /* the same ends, for those who wait for them by webhook */
	EVENT_ARTIFACT_CREATED,
	EVENT_ARTIFACT_DELETED,
	EVENT_POOL_FAILED,    /* it cannot be filled */
	EVENT_POOL_RECOVERED, /* it can again */
	EVENT_KIND_COUNT,
};
const char *event_kind_name(enum event_kind kind);
/* Of a sandbox that comes into a state. */
enum event_kind event_kind_of_move(enum sandbox_state from, enum sandbox_state to);

/* "sandbox.started", "sandbox.*" or "*". Refuses what matches no kind that there is. */
#define EVENT_PATTERN_MAX 64
MUST_CHECK int event_pattern_check(const char *pattern, struct error *err);
bool event_pattern_matches(const char *pattern, const char *kind);
