/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox in answers: its shapes, alone and in lists. */
#include <string.h>

#include "fleet/core/defaults.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "store/volumes.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/intervals.h"
#include "surface/daytona/network.h"

#define MB_PER_GB 1024

static const struct json_member daytona_mount_shape_members[] = {
        JSON_TEXT_MEMBER(daytona_mount, volume_id, .name = "volumeId", .flags = JSON_REQUIRED,
                         .max = SANDBOX_NAME_MAX),
        JSON_TEXT_MEMBER(daytona_mount, mount_path, .name = "mountPath", .flags = JSON_REQUIRED,
                         .max = SANDBOX_MOUNT_PATH_MAX),
        JSON_TEXT_MEMBER(daytona_mount, subpath, .max = SANDBOX_MOUNT_PATH_MAX,
                         .flags = JSON_NULLABLE | JSON_OMIT_EMPTY),
};
JSON_OPEN_SHAPE(daytona_mount_shape, "DaytonaSandboxVolume", daytona_mount,
                "A volume in a sandbox");

struct sandbox_dto {
	const char *id, *organization, *name, *snapshot, *user, *target, *state, *desired_state,
	        *error_reason, *class, *backup_state, *toolbox_url, *allow_list, *domain_list;
	struct span env, labels;
	bool is_public, network_blocked, recoverable;
	double cpu, gpu, memory, disk;
	int64_t auto_stop, auto_pause, auto_archive, auto_delete;
	int64_t destroy_at, created_at, updated_at, active_at;
	struct json_list volumes;
};
#define LISTED_ROWS                                                                                \
	JSON_TEXT_MEMBER(sandbox_dto, id),                                                         \
	        JSON_TEXT_MEMBER(sandbox_dto, organization, .name = "organizationId"),             \
	        JSON_TEXT_MEMBER(sandbox_dto, name), JSON_TEXT_MEMBER(sandbox_dto, snapshot),      \
	        JSON_TEXT_MEMBER(sandbox_dto, user), JSON_RAW_MEMBER(sandbox_dto, labels),         \
	        JSON_BOOL_MEMBER(sandbox_dto, is_public, .name = "public"),                        \
	        JSON_BOOL_MEMBER(sandbox_dto, network_blocked, .name = "networkBlockAll"),         \
	        JSON_TEXT_MEMBER(sandbox_dto, domain_list, .name = "domainAllowList",              \
	                         .flags = JSON_OMIT_EMPTY),                                        \
	        JSON_TEXT_MEMBER(sandbox_dto, allow_list, .name = "networkAllowList",              \
	                         .flags = JSON_OMIT_EMPTY),                                        \
	        JSON_TEXT_MEMBER(sandbox_dto, target), JSON_NUMBER_MEMBER(sandbox_dto, cpu),       \
	        JSON_NUMBER_MEMBER(sandbox_dto, gpu), JSON_NUMBER_MEMBER(sandbox_dto, memory),     \
	        JSON_NUMBER_MEMBER(sandbox_dto, disk), JSON_TEXT_MEMBER(sandbox_dto, state),       \
	        JSON_TEXT_MEMBER(sandbox_dto, desired_state, .name = "desiredState"),              \
	        JSON_TEXT_MEMBER(sandbox_dto, error_reason, .name = "errorReason",                 \
	                         .flags = JSON_OMIT_EMPTY),                                        \
	        JSON_BOOL_MEMBER(sandbox_dto, recoverable),                                        \
	        JSON_TEXT_MEMBER(sandbox_dto, backup_state, .name = "backupState"),                \
	        JSON_WHOLE_MEMBER(sandbox_dto, auto_stop, .name = "autoStopInterval"),             \
	        JSON_WHOLE_MEMBER(sandbox_dto, auto_pause, .name = "autoPauseInterval"),           \
	        JSON_WHOLE_MEMBER(sandbox_dto, auto_archive, .name = "autoArchiveInterval"),       \
	        JSON_WHOLE_MEMBER(sandbox_dto, auto_delete, .name = "autoDeleteInterval"),         \
	        JSON_TIME_MEMBER(sandbox_dto, destroy_at, .name = "autoDestroyAt",                 \
	                         .flags = JSON_OMIT_EMPTY),                                        \
	        JSON_TIME_MEMBER(sandbox_dto, created_at, .name = "createdAt"),                    \
	        JSON_TIME_MEMBER(sandbox_dto, updated_at, .name = "updatedAt"),                    \
	        JSON_TIME_MEMBER(sandbox_dto, active_at, .name = "lastActivityAt",                 \
	                         .flags = JSON_OMIT_EMPTY),                                        \
	        JSON_TEXT_MEMBER(sandbox_dto, class, .name = "sandboxClass"),                      \
	        JSON_TEXT_MEMBER(sandbox_dto, toolbox_url, .name = "toolboxProxyUrl")
static const struct json_member listed_shape_members[] = {LISTED_ROWS};
static JSON_SHAPE(listed_shape, "DaytonaSandboxListed", sandbox_dto, "A sandbox in a list");
static const struct json_member daytona_sandbox_shape_members[] = {
        LISTED_ROWS,
        JSON_RAW_MEMBER(sandbox_dto, env),
        JSON_LIST_MEMBER(sandbox_dto, volumes, &daytona_mount_shape),
};
JSON_SHAPE(daytona_sandbox_shape, "DaytonaSandbox", sandbox_dto, "A sandbox");

/* Clients wait until the state is the desired one. */
static const struct {
	const char *actual, *desired;
} states[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = {"creating", "started"},
        [SANDBOX_CREATING] = {"creating", "started"},
        [SANDBOX_STARTED] = {"started", "started"},
        [SANDBOX_PAUSED] = {"paused", "paused"},
        [SANDBOX_STOPPING] = {"stopping", "stopped"},
        [SANDBOX_STOPPED] = {"stopped", "stopped"},
        [SANDBOX_ARCHIVED] = {"archived", "archived"},
        [SANDBOX_DELETING] = {"destroying", "destroyed"},
        [SANDBOX_DELETED] = {"destroyed", "destroyed"},
        [SANDBOX_FAILED] = {"error", "started"},
};

const char *daytona_state_name(const struct sandbox_record *r)
{
	bool is_restarting = r->actual == SANDBOX_CREATING && r->started_at > 0;

	return is_restarting ? "starting" : states[r->actual].actual;
}

/* The user that commands are run as. */
static const char *user_of(struct request *rq, const struct sandbox_record *r)
{
	struct fleet_defaults defaults;
	struct error ignored;

	if (fleet_defaults(api_of(rq)->fleet, rq->arena, r, NULL, &defaults, &ignored) < 0)
		return "root";
	return defaults.user && defaults.user[0] ? defaults.user : "root";
}

static struct sandbox_dto dto_of(struct request *rq, const struct sandbox_record *r)
{
	int64_t used_at = r->last_activity_at ? r->last_activity_at : r->created_at;

	return (struct sandbox_dto){
	        .id = r->id,
	        .organization = r->project_id,
	        .name = r->name,
	        .snapshot = r->template_name,
	        .user = user_of(rq, r),
	        .target = r->region,
	        .state = daytona_state_name(r),
	        .desired_state = states[r->desired].desired,
	        .error_reason = r->actual == SANDBOX_FAILED ? r->last_event : "",
	        .class = DAYTONA_CLASS,
	        .backup_state = r->actual == SANDBOX_ARCHIVED ? "Completed" : "None",
	        .toolbox_url = arena_format(rq->arena, "%s" DAYTONA_TOOLBOX, daytona_origin(rq)),
	        .env = SPAN("{}"),
	        .labels = r->labels_json[0] ? span_of(r->labels_json) : SPAN("{}"),
	        .is_public = r->preview_public,
	        .network_blocked = daytona_network_is_blocked(r),
	        .allow_list = daytona_allow_list(rq->arena, r),
	        .domain_list = daytona_domain_list(rq->arena, r),
	        .cpu = r->resources.cpu,
	        .memory = (double)r->resources.memory_mb / MB_PER_GB,
	        .disk = (double)r->resources.disk_mb / MB_PER_GB,
	        .auto_stop = daytona_minutes(r->timeouts.idle_stop_ms),
	        .auto_pause = daytona_minutes(r->timeouts.idle_pause_ms),
	        .auto_archive = daytona_minutes(r->timeouts.archive_after_ms),
	        .auto_delete = daytona_delete_minutes(r->timeouts.delete_after_ms),
	        .destroy_at = r->timeout_at,
	        .created_at = r->created_at,
	        .updated_at = r->last_event_at > r->created_at ? r->last_event_at : r->created_at,
	        .active_at = used_at,
	};
}

/* The mounts of this sandbox among `mounts`. */
static struct json_list volumes_of(struct request *rq, const struct sandbox_record *r,
                                   const struct mount_list *mounts)
{
	struct daytona_mount *items = ARENA_ARRAY(rq->arena, struct daytona_mount, mounts->count);
	size_t count = 0;

	for (size_t i = 0; i < mounts->count; i++)
		if (strcmp(mounts->items[i].sandbox_id, r->id) == 0)
			items[count++] =
			        (struct daytona_mount){.volume_id = mounts->items[i].volume_id,
			                               .mount_path = mounts->items[i].path,
			                               .subpath = mounts->items[i].subpath};
	return (struct json_list){items, count, true};
}

/* Only callers that may run commands see the environment. */
static void fill_environment(const struct request *rq, const struct sandbox_record *r,
                             struct sandbox_dto *dto)
{
	if (api_account(rq)->scopes & SCOPE_SANDBOX_WRITE && r->env_json[0])
		dto->env = span_of(r->env_json);
}

static struct sandbox_dto whole_dto_of(struct request *rq, const struct sandbox_record *r,
                                       const struct mount_list *mounts)
{
	struct sandbox_dto dto = dto_of(rq, r);

	dto.volumes = volumes_of(rq, r, mounts);
	fill_environment(rq, r, &dto);
	return dto;
}

static int load_whole_dto(struct request *rq, const struct sandbox_record *r,
                          struct sandbox_dto *ret, struct error *err)
{
	struct mount_list mounts;

	if (store_mounts_of_sandbox(api_of(rq)->store, rq->arena, r->id, &mounts, err) < 0)
		return -1;
	*ret = whole_dto_of(rq, r, &mounts);
	return 0;
}

int daytona_sandbox_write(struct request *rq, struct buf *out, const struct sandbox_record *r,
                          struct error *err)
{
	struct sandbox_dto dto;

	if (load_whole_dto(rq, r, &dto, err) < 0)
		return -1;
	json_add_struct(out, NULL, &daytona_sandbox_shape, &dto);
	return 0;
}

int daytona_sandboxes_write(struct request *rq, struct buf *out, const struct sandbox_list *list,
                            struct error *err)
{
	struct mount_list mounts = {.count = 0};

	if (list->count > 0 && store_mounts_of_project(api_of(rq)->store, rq->arena,
	                                               api_project(rq), &mounts, err) < 0)
		return -1;
	json_begin_list(out, NULL);
	for (size_t i = 0; i < list->count; i++) {
		const struct sandbox_dto dto = whole_dto_of(rq, &list->items[i], &mounts);

		json_add_struct(out, NULL, &daytona_sandbox_shape, &dto);
	}
	json_end_list(out);
	return 0;
}

void daytona_sandbox_write_listed(struct request *rq, struct buf *out,
                                  const struct sandbox_record *r)
{
	const struct sandbox_dto dto = dto_of(rq, r);

	json_add_struct(out, NULL, &listed_shape, &dto);
}

int daytona_sandbox_reply_as(struct request *rq, struct reply *reply,
                             const struct sandbox_record *r, const struct daytona_state *state,
                             struct error *err)
{
	struct sandbox_dto dto;

	if (load_whole_dto(rq, r, &dto, err) < 0)
		return -1;
	if (state) {
		dto.state = state->name;
		dto.error_reason = state->reason;
	}
	reply_json(reply, &daytona_sandbox_shape, &dto);
	return 0;
}

int daytona_sandbox_reply(struct request *rq, struct reply *reply, const struct sandbox_record *r,
                          struct error *err)
{
	return daytona_sandbox_reply_as(rq, reply, r, NULL, err);
}
