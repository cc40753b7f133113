/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/stored_artifact.h"

#include "base/clock.h"
#include "base/path.h"
#include "edge/api.h"
#include "fleet/sandbox/artifacts.h"
#include "http/server/http.h"
#include "store/artifacts.h"

static const struct json_member stored_artifact_shape_members[] = {
        JSON_TEXT_MEMBER(stored_artifact, id),
        JSON_TEXT_MEMBER(stored_artifact, project),
        JSON_TEXT_MEMBER(stored_artifact, sandbox,
                         .about = "id of the one it is of, which may be gone"),
        JSON_TEXT_MEMBER(stored_artifact, sandbox_name),
        JSON_TEXT_MEMBER(stored_artifact, run, .flags = JSON_NULLABLE, .about = "of Atoll-Run"),
        JSON_WHOLE_MEMBER(stored_artifact, process,
                          .about = "number of the command that made it; 0 = not known"),
        JSON_TEXT_MEMBER(stored_artifact, job, .name = "resultId", .flags = JSON_NULLABLE,
                         .about = "of the background job that made it"),
        JSON_TEXT_MEMBER(stored_artifact, path, .about = "inside the sandbox"),
        JSON_TEXT_MEMBER(stored_artifact, name),
        JSON_TEXT_MEMBER(stored_artifact, media_type, .about = "by name and content"),
        JSON_WHOLE_MEMBER(stored_artifact, size),
        JSON_TEXT_MEMBER(stored_artifact, sha256),
        JSON_TIME_MEMBER(stored_artifact, created_at),
        JSON_TIME_MEMBER(stored_artifact, expires_at,
                         .about = "time of its removal; null = it is not removed"),
        JSON_TEXT_MEMBER(stored_artifact, url, .flags = JSON_NULLABLE,
                         .about = "path on this server that gives its bytes without a key; null "
                                  "for a key without sandbox:write"),
        JSON_TIME_MEMBER(stored_artifact, url_expires_at, .flags = JSON_NULLABLE),
};
JSON_SHAPE(stored_artifact_shape, "StoredArtifact", stored_artifact, "A stored file of a sandbox");

struct stored_artifact stored_artifact_of(struct arena *a, const struct artifact_record *r,
                                          int64_t seconds)
{
	int64_t until = clock_unix_ms() / 1000 + seconds;

	return (struct stored_artifact){
	        .id = r->id,
	        .project = r->project_id,
	        .sandbox = r->sandbox_id,
	        .sandbox_name = r->sandbox_name,
	        .run = *r->run ? r->run : NULL,
	        .job = *r->job ? r->job : NULL,
	        .path = r->path,
	        .name = path_last(r->path),
	        .media_type = r->media_type,
	        .sha256 = r->sha256,
	        .process = r->process,
	        .size = r->size_bytes,
	        .created_at = r->created_at,
	        .expires_at = r->expires_at,
	        .url = seconds > 0 ? fleet_artifact_address(a, r, until) : NULL,
	        .url_expires_at = seconds > 0 ? until * 1000 : 0,
	};
}

void stored_artifact_write(struct buf *out, struct arena *a, const struct artifact_record *r)
{
	const struct stored_artifact answer = stored_artifact_of(a, r, STORED_ARTIFACT_ADDRESS_S);

	json_write(out, &stored_artifact_shape, &answer);
}

int64_t stored_artifact_address_s(const struct request *rq)
{
	struct error ignored = {0};

	return api_require(rq, SCOPE_SANDBOX_WRITE, &ignored) == 0 ? STORED_ARTIFACT_ADDRESS_S : 0;
}

struct json_list stored_artifact_items(const struct request *rq, const struct artifact_list *list)
{
	struct stored_artifact *items = ARENA_ARRAY(rq->arena, struct stored_artifact, list->count);
	int64_t seconds = stored_artifact_address_s(rq);

	for (size_t i = 0; i < list->count; i++)
		items[i] = stored_artifact_of(rq->arena, &list->items[i], seconds);
	return (struct json_list){items, list->count, true};
}
