/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/events.h"

#include <string.h>

const char *const event_kind_choices[] = {
        [EVENT_KIND_COUNT] = NULL,
        [EVENT_SANDBOX_CREATED] = "sandbox.created",
        [EVENT_SANDBOX_STARTING] = "sandbox.starting",
        [EVENT_SANDBOX_STARTED] = "sandbox.started",
        [EVENT_SANDBOX_PAUSED] = "sandbox.paused",
        [EVENT_SANDBOX_RESUMED] = "sandbox.resumed",
        [EVENT_SANDBOX_STOPPING] = "sandbox.stopping",
        [EVENT_SANDBOX_STOPPED] = "sandbox.stopped",
        [EVENT_SANDBOX_ARCHIVED] = "sandbox.archived",
        [EVENT_SANDBOX_DELETING] = "sandbox.deleting",
        [EVENT_SANDBOX_DELETED] = "sandbox.deleted",
        [EVENT_SANDBOX_FAILED] = "sandbox.failed",
        [EVENT_SANDBOX_UPDATED] = "sandbox.updated",
        [EVENT_SANDBOX_RESIZED] = "sandbox.resized",
        [EVENT_SANDBOX_UNRESPONSIVE] = "sandbox.unresponsive",
        [EVENT_SANDBOX_CUT_OFF] = "sandbox.cut_off",
        [EVENT_SANDBOX_RECONNECTED] = "sandbox.reconnected",
        [EVENT_COMMAND_LIMITED] = "command.limited",
        [EVENT_EGRESS_DENIED] = "egress.denied",
        [EVENT_EGRESS_ALLOWED] = "egress.allowed",
        [EVENT_BUDGET_WARNED] = "budget.warned",
        [EVENT_BUDGET_EXCEEDED] = "budget.exceeded",
        [EVENT_BUDGET_CREATED] = "budget.created",
        [EVENT_BUDGET_UPDATED] = "budget.updated",
        [EVENT_BUDGET_DELETED] = "budget.deleted",
        [EVENT_SNAPSHOT_CREATED] = "snapshot.created",
        [EVENT_SNAPSHOT_DELETED] = "snapshot.deleted",
        [EVENT_SNAPSHOT_LOST] = "snapshot.lost",
        [EVENT_LEASE_ACQUIRED] = "lease.acquired",
        [EVENT_LEASE_RELEASED] = "lease.released",
        [EVENT_LEASE_DELETED] = "lease.deleted",
        [EVENT_ARTIFACT_CREATED] = "artifact.created",
        [EVENT_ARTIFACT_DELETED] = "artifact.deleted",
        [EVENT_VOLUME_CREATED] = "volume.created",
        [EVENT_VOLUME_DELETED] = "volume.deleted",
        [EVENT_VOLUME_ATTACHED] = "volume.attached",
        [EVENT_VOLUME_DETACHED] = "volume.detached",
        [EVENT_VOLUME_GROWN] = "volume.grown",
        [EVENT_TEMPLATE_CREATED] = "template.created",
        [EVENT_TEMPLATE_UPDATED] = "template.updated",
        [EVENT_TEMPLATE_DELETED] = "template.deleted",
        [EVENT_TEMPLATE_BUILDING] = "template.building",
        [EVENT_TEMPLATE_READY] = "template.ready",
        [EVENT_TEMPLATE_FAILED] = "template.failed",
        [EVENT_BUILD_STARTED] = "build.started",
        [EVENT_BUILD_READY] = "build.ready",
        [EVENT_BUILD_FAILED] = "build.failed",
        [EVENT_BUILD_CANCELLED] = "build.cancelled",
        [EVENT_BACKUP_READY] = "backup.ready",
        [EVENT_BACKUP_FAILED] = "backup.failed",
        [EVENT_BACKUP_DELETED] = "backup.deleted",
        [EVENT_KEY_CREATED] = "key.created",
        [EVENT_KEY_ROTATED] = "key.rotated",
        [EVENT_KEY_REVOKED] = "key.revoked",
        [EVENT_PROJECT_CREATED] = "project.created",
        [EVENT_PROJECT_DELETED] = "project.deleted",
        [EVENT_PROJECT_UPDATED] = "project.updated",
        [EVENT_MEMBER_ADDED] = "member.added",
        [EVENT_MEMBER_UPDATED] = "member.updated",
        [EVENT_MEMBER_REMOVED] = "member.removed",
        [EVENT_JOB_COMPLETED] = "job.completed",
        [EVENT_JOB_FAILED] = "job.failed",
        [EVENT_JOB_STOPPED] = "job.stopped",
        [EVENT_AGENT_FINISHED] = "agent.finished",
        [EVENT_POOL_FAILED] = "pool.failed",
        [EVENT_POOL_RECOVERED] = "pool.recovered",
        [EVENT_PROVIDER_UNHEALTHY] = "provider.unhealthy",
        [EVENT_PROVIDER_RECOVERED] = "provider.recovered",
        [EVENT_APPROVAL_PENDING] = "approval.pending",
        [EVENT_APPROVAL_APPROVED] = "approval.approved",
        [EVENT_APPROVAL_REFUSED] = "approval.refused",
        [EVENT_APPROVAL_USED] = "approval.used",
        [EVENT_APPROVAL_EXPIRED] = "approval.expired",
        [EVENT_CREDENTIAL_CREATED] = "credential.created",
        [EVENT_CREDENTIAL_UPDATED] = "credential.updated",
        [EVENT_CREDENTIAL_DELETED] = "credential.deleted",
        [EVENT_CREDENTIAL_USED] = "credential.used",
        [EVENT_CONSENT_REQUESTED] = "consent.requested",
        [EVENT_CONSENT_GIVEN] = "consent.given",
        [EVENT_CONSENT_REVOKED] = "consent.revoked",
        [EVENT_CONSENT_EXPIRED] = "consent.expired",
        [EVENT_WEBHOOK_CREATED] = "webhook.created",
        [EVENT_WEBHOOK_UPDATED] = "webhook.updated",
        [EVENT_WEBHOOK_DISABLED] = "webhook.disabled",
        [EVENT_WEBHOOK_DELETED] = "webhook.deleted",
        [EVENT_WINDOW_OPENED] = "window.opened",
        [EVENT_WINDOW_CLOSED] = "window.closed",
        [EVENT_RECORDING_STARTED] = "recording.started",
        [EVENT_RECORDING_READY] = "recording.ready",
        [EVENT_SERVICE_STARTED] = "service.started",
        [EVENT_SERVICE_STOPPED] = "service.stopped",
        [EVENT_SERVICE_REMOVED] = "service.removed",
};
_Static_assert(COUNT_OF(event_kind_choices) == EVENT_KIND_COUNT + 1, "a name per kind");

static const enum event_kind kind_of_state[] = {
        [SANDBOX_PENDING] = EVENT_SANDBOX_CREATED,   [SANDBOX_CREATING] = EVENT_SANDBOX_STARTING,
        [SANDBOX_STARTED] = EVENT_SANDBOX_STARTED,   [SANDBOX_PAUSED] = EVENT_SANDBOX_PAUSED,
        [SANDBOX_STOPPING] = EVENT_SANDBOX_STOPPING, [SANDBOX_STOPPED] = EVENT_SANDBOX_STOPPED,
        [SANDBOX_ARCHIVED] = EVENT_SANDBOX_ARCHIVED, [SANDBOX_DELETING] = EVENT_SANDBOX_DELETING,
        [SANDBOX_DELETED] = EVENT_SANDBOX_DELETED,   [SANDBOX_FAILED] = EVENT_SANDBOX_FAILED,
};
_Static_assert(COUNT_OF(kind_of_state) == SANDBOX_STATE_COUNT, "a kind per state");

const char *event_kind_name(enum event_kind kind)
{
	return (unsigned)kind < EVENT_KIND_COUNT ? event_kind_choices[kind] : "unknown";
}

enum event_kind event_kind_of_move(enum sandbox_state from, enum sandbox_state to)
{
	if (from == SANDBOX_PAUSED && to == SANDBOX_STARTED)
		return EVENT_SANDBOX_RESUMED;
	return kind_of_state[to];
}

bool event_pattern_matches(const char *pattern, const char *kind)
{
	size_t size = strlen(pattern);

	if (size > 0 && pattern[size - 1] == '*')
		return strncmp(pattern, kind, size - 1) == 0;
	return strcmp(pattern, kind) == 0;
}

int event_pattern_check(const char *pattern, struct error *err)
{
	const char *star = strchr(pattern, '*');
	/* A star replaces a whole word: "sandbox.st*" is more likely a typing error. */
	bool is_whole = !star || (!star[1] && (star == pattern || star[-1] == '.'));

	for (unsigned i = 0; is_whole && i < EVENT_KIND_COUNT; i++)
		if (event_pattern_matches(pattern, event_kind_name((enum event_kind)i)))
			return 0;
	(void)FAIL(err, ERROR_INVALID, "unknown kind of event '%.*s'", EVENT_PATTERN_MAX, pattern);
	return FAIL_HINT(
	        err,
	        "use a kind of docs/use/events.md such as sandbox.started, or sandbox.*, or *");
}
