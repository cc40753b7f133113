/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/events.h — the kinds of events. The store writes them, callers filter by them, webhooks
 * subscribe to them.
 *
 * A kind is "SUBJECT.VERB". A new kind is a row in events.c. Names never change: databases and
 * clients' programs hold them. */
#pragma once

#include <stdbool.h>

#include "sandbox/sandbox.h"

enum event_kind {
	EVENT_SANDBOX_CREATED,  /* recorded; the provider has not begun */
	EVENT_SANDBOX_STARTING, /* a provider makes or starts it */
	EVENT_SANDBOX_STARTED,
	EVENT_SANDBOX_PAUSED,
	EVENT_SANDBOX_RESUMED,
	EVENT_SANDBOX_STOPPING,
	EVENT_SANDBOX_STOPPED,
	EVENT_SANDBOX_ARCHIVED,
	EVENT_SANDBOX_DELETING,
	EVENT_SANDBOX_DELETED,
	EVENT_SANDBOX_FAILED,
	EVENT_SANDBOX_UPDATED,      /* settings, environment, preview or egress */
	EVENT_SANDBOX_RESIZED,      /* limits */
	EVENT_SANDBOX_UNRESPONSIVE, /* the agent does not answer */
	EVENT_SANDBOX_CUT_OFF,      /* a quota of sent bytes took its network */
	EVENT_SANDBOX_RECONNECTED,  /* … gave it back */
	EVENT_COMMAND_LIMITED,      /* a limit ended a command */
	EVENT_EGRESS_DENIED,        /* network rules refused a connection */
	EVENT_EGRESS_ALLOWED,       /* … allowed the first one to a host for a while */
	EVENT_BUDGET_WARNED,        /* the warning threshold is reached */
	EVENT_BUDGET_EXCEEDED,      /* all of it is spent */
	EVENT_BUDGET_CREATED,
	EVENT_BUDGET_UPDATED,
	EVENT_BUDGET_DELETED,
	EVENT_SNAPSHOT_CREATED,
	EVENT_SNAPSHOT_DELETED,
	EVENT_SNAPSHOT_LOST,  /* its files disappeared without a delete */
	EVENT_LEASE_ACQUIRED, /* the lease got a sandbox, or its sandbox got new files */
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
	EVENT_TEMPLATE_BUILDING, /* its first build, import or pull has begun */
	EVENT_TEMPLATE_READY,    /* … has finished */
	EVENT_TEMPLATE_FAILED,
	EVENT_BUILD_STARTED, /* it has left the queue */
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
	EVENT_PROJECT_DELETED, /* all that belonged to it is gone */
	EVENT_PROJECT_UPDATED, /* name, settings or defaults */
	EVENT_MEMBER_ADDED,
	EVENT_MEMBER_UPDATED,
	EVENT_MEMBER_REMOVED,
	EVENT_JOB_COMPLETED,
	EVENT_JOB_FAILED,
	EVENT_JOB_STOPPED,    /* a caller stopped it */
	EVENT_AGENT_FINISHED, /* the same three ends as one kind, for webhooks */
	EVENT_ARTIFACT_CREATED,
	EVENT_ARTIFACT_DELETED,
	EVENT_POOL_FAILED,        /* it cannot be filled */
	EVENT_POOL_RECOVERED,     /* it can be filled again */
	EVENT_PROVIDER_UNHEALTHY, /* it fails creates; an event of no project */
	EVENT_PROVIDER_RECOVERED,
	EVENT_APPROVAL_PENDING, /* a tool call waits for a decision */
	EVENT_APPROVAL_APPROVED,
	EVENT_APPROVAL_REFUSED,
	EVENT_APPROVAL_USED,    /* the approved call was made */
	EVENT_APPROVAL_EXPIRED, /* nobody has decided in time */
	EVENT_CREDENTIAL_CREATED,
	EVENT_CREDENTIAL_UPDATED,
	EVENT_CREDENTIAL_DELETED,
	EVENT_CREDENTIAL_USED,   /* a request of a sandbox got it, for the first time in an hour */
	EVENT_CONSENT_REQUESTED, /* an agent asks for a credential */
	EVENT_CONSENT_GIVEN,
	EVENT_CONSENT_REVOKED,
	EVENT_CONSENT_EXPIRED,
	EVENT_WEBHOOK_CREATED,
	EVENT_WEBHOOK_UPDATED,
	EVENT_WEBHOOK_DISABLED, /* too many deliveries wait */
	EVENT_WEBHOOK_DELETED,
	EVENT_WINDOW_OPENED,
	EVENT_WINDOW_CLOSED, /* by a call */
	EVENT_RECORDING_STARTED,
	EVENT_RECORDING_READY,
	EVENT_SERVICE_STARTED, /* wanted to run, by a call */
	EVENT_SERVICE_STOPPED,
	EVENT_SERVICE_REMOVED,
	EVENT_KIND_COUNT,
};
const char *event_kind_name(enum event_kind kind);
/* All names, NULL-terminated. */
extern const char *const event_kind_choices[];
/* The event of a sandbox's move between two states. */
enum event_kind event_kind_of_move(enum sandbox_state from, enum sandbox_state to);

/* Accepts "sandbox.started", "sandbox.*" and "*"; refuses patterns that match no kind. */
#define EVENT_PATTERN_MAX 64
MUST_CHECK int event_pattern_check(const char *pattern, struct error *err);
bool event_pattern_matches(const char *pattern, const char *kind);
