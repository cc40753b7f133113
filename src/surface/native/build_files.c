/* SPDX-License-Identifier: Apache-2.0 */
/* Files for copy steps: received completely, then unpacked in the lane of builds and imports. */
#include <stdlib.h>
#include <unistd.h>

#include "calls/receiver.h"
#include "fleet/build/build.h"
#include "fleet/core/waiting.h"
#include "surface/native/build_upload.h"
#include "surface/native/builds.h"

#define COPY_BYTES ((size_t)256 * 1024)

struct build_files_answer {
	const char *hash;
	bool present;
	int64_t size_bytes;
};
static const struct json_member build_files_shape_members[] = {
        JSON_TEXT_MEMBER(build_files_answer, hash),
        JSON_BOOL_MEMBER(build_files_answer, present),
        JSON_WHOLE_MEMBER(build_files_answer, size_bytes, .about = "unpacked size of the tar"),
};
JSON_SHAPE(build_files_shape, "BuildFiles", build_files_answer,
           "Files for copy steps; they are deleted a day after their last use");

int build_files_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	struct build_files_answer out = {.hash = request_param(rq, "hash")};

	if (fleet_build_files_find(api_of(rq)->fleet, api_project(rq), out.hash, &out.present,
	                           &out.size_bytes, err) < 0)
		return -1;
	reply_json(reply, &build_files_shape, &out);
	return 0;
}

struct incoming_build_files {
	struct arena arena;
	struct api *api;
	const char *project_id, *hash;
};

static int copy_to_files(int fd, struct build_files *files, struct error *err)
{
	char *bytes = malloc(COPY_BYTES);
	ssize_t size = 0;
	int status = 0;

	if (!bytes)
		abort();
	while (status == 0 && (size = read(fd, bytes, COPY_BYTES)) > 0)
		status = fleet_build_files_write(files, (struct span){bytes, (size_t)size}, err);
	free(bytes);
	return size < 0 ? FAIL_ERRNO(err, "read the uploaded file") : status;
}

static int store_files(void *state, int fd, struct buf *json, struct error *err)
{
	const struct incoming_build_files *job = state;
	struct build_files_answer answer = {.hash = job->hash, .present = true};
	struct build_files *files;
	int status;

	if (fleet_build_files_new(job->api->fleet, &files, err) < 0)
		return -1;
	status = copy_to_files(fd, files, err);
	if (status == 0)
		status = fleet_build_files_keep(files, job->project_id, job->hash,
		                                &answer.size_bytes, err);
	fleet_build_files_free(files);
	if (status == 0)
		json_write(json, &build_files_shape, &answer);
	return status;
}

static void incoming_files_free(void *state)
{
	struct incoming_build_files *job = state;

	arena_done(&job->arena);
	free(job);
}

static const struct receiver_upload_ops files_ops = {.work = store_files,
                                                     .done = incoming_files_free};

static struct incoming_build_files *incoming_files_new(struct api *api,
                                                       const struct build_upload *files)
{
	struct incoming_build_files *job = memory_new(sizeof(*job));

	job->api = api;
	job->project_id = arena_text(&job->arena, files->project_id);
	job->hash = arena_text(&job->arena, files->hash);
	return job;
}

int build_upload_start(struct request *rq, const struct build_upload *files, struct reply *reply,
                       struct error *err)
{
	struct api *api = api_of(rq);
	struct receiver_upload_options options = {.ops = &files_ops,
	                                          .lane = fleet_work(api->fleet),
	                                          .project_id = files->project_id,
	                                          .what = "the files of a copy step",
	                                          .bytes_max = BUILD_FILES_MAX};

	if (build_files_check(files->hash, err) < 0)
		return FAIL_CONTEXT(err, "hash");
	options.state = incoming_files_new(api, files);
	return receiver_take(rq, &options, reply, err);
}

int build_files_put(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	const struct build_upload files = {api_project(rq), request_param(rq, "hash")};

	return build_upload_start(rq, &files, reply, err);
}
