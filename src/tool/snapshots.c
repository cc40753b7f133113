/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot and rollback. */
#include "fleet/core/fleet_hold.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/fork.h"
#include "fleet/snapshot/snapshots.h"
#include "json/json.h"
#include "provider/provider.h"
#include "tool/builtin.h"
#include "tool/tool.h"

struct snapshot_input {
	const char *name;
};
static const struct json_member snapshot_input_members[] = {
        JSON_TEXT_MEMBER(snapshot_input, name, .max = SANDBOX_NAME_MAX,
                         .about = "unique in the project; default: its id"),
};
static JSON_SHAPE(snapshot_input, "SnapshotInput", snapshot_input, "A snapshot to take");

struct snapshot_output {
	const char *snapshot, *name;
};
static const struct json_member snapshot_output_members[] = {
        JSON_TEXT_MEMBER(snapshot_output, snapshot, .about = "its id, for rollback"),
        JSON_TEXT_MEMBER(snapshot_output, name),
};
static JSON_SHAPE(snapshot_output, "SnapshotOutput", snapshot_output, "A snapshot");

static int write_snapshot(const struct tool_call *call, const struct snapshot_record *r,
                          const char *verb, struct tool_result *ret)
{
	struct snapshot_output *out = ARENA_NEW(call->arena, struct snapshot_output);

	*out = (struct snapshot_output){r->id, r->name};
	tool_add_text(ret, span_of(arena_format(call->arena, "%s snapshot %s", verb, r->id)));
	ret->structured = out;
	return 0;
}

static int snapshot_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                         struct error *err)
{
	const struct snapshot_input *in = input;
	const struct fleet_ref ref = {call->project_id, call->sandbox->id, NULL};
	const struct fleet_snapshot request = {.name = in->name, .sync = true};
	struct snapshot_record taken;

	if (provider_require(call->hold->provider, PROVIDER_CAN_SNAPSHOT, err) < 0 ||
	    fleet_snapshot(call->fleet, call->arena, &ref, &request, &taken, err) < 0)
		return -1;
	return write_snapshot(call, &taken, "took", ret);
}

const struct tool snapshot_tool = {
        .name = "snapshot",
        .title = "Take a snapshot of the files",
        .description =
                "Takes a snapshot of all files of the sandbox. Use it before a risky change; "
                "rollback restores the files. Running processes continue.",
        .input = &snapshot_input,
        .output = &snapshot_output,
        .class = TOOL_EDITS,
        .call = snapshot_call,
};

struct rollback_input {
	const char *snapshot;
};
static const struct json_member rollback_input_members[] = {
        JSON_TEXT_MEMBER(rollback_input, snapshot, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_NAME_MAX,
                         .about = "id or name of a snapshot of this sandbox"),
};
static JSON_SHAPE(rollback_input, "RollbackInput", rollback_input, "The snapshot to restore");

static int rollback_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                         struct error *err)
{
	const struct rollback_input *in = input;
	const struct fleet_ref ref = {call->project_id, in->snapshot, NULL};
	struct snapshot_record found;
	struct sandbox_record restored;

	if (fleet_snapshot_find(call->fleet, call->arena, &ref, &found, err) < 0)
		return -1;
	/* A tool acts only in its own sandbox, even if the caller may use others. */
	if (strcmp(found.sandbox_id, call->sandbox->id) != 0)
		return FAIL(err, ERROR_FORBIDDEN, "snapshot '%.64s' is another sandbox's",
		            in->snapshot);
	if (fleet_snapshot_restore(call->fleet, call->arena, &ref, &restored, err) < 0)
		return -1;
	return write_snapshot(call, &found, "went back to", ret);
}

const struct tool rollback_tool = {
        .name = "rollback",
        .title = "Go back to a snapshot",
        .description = "Restores all files of the sandbox from a snapshot. "
                       "Running processes are ended; later changes are lost.",
        .input = &rollback_input,
        .output = &snapshot_output,
        .class = TOOL_RUNS,
        .flags = TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT,
        .call = rollback_call,
};
