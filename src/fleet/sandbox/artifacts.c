/* SPDX-License-Identifier: Apache-2.0 */
/* The row is written first and reserves the project's room, then the blob is stored, then the row
 * becomes READY: a process that dies in between leaves a row with its state. Removal goes in
 * reverse order. */
#include "fleet/sandbox/artifacts.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/fd.h"
#include "blob/blob.h"
#include "config/config.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "provider/agent_reader.h"
#include "provider/provider.h"
#include "sandbox/media.h"
#include "store/artifacts.h"
#include "store/projects.h"
#include "store/sandbox_record.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define MIB ((int64_t)1 << 20)
#define SILENCE_MS 30000
/* A transfer slower than this, after the first SILENCE_MS, is aborted. Otherwise an agent that
 * sends a byte now and then would block a worker for the whole call. */
#define RATE_MIN ((int64_t)64 * 1024) /* bytes per second */
#define SECRET_SIZE 32

static const char *blob_name(struct arena *a, const char *id)
{
	return arena_format(a, "artifacts/%s", id);
}

/* A file on its way from the agent to the blob store. */
struct artifact_capture {
	struct fleet *fleet;
	const struct fleet_artifact_keep *request;
	struct artifact_record record;
	struct artifact_limits limits;
	struct blob_writer *writer;
	crypto_hash_sha256_state hash;
	int64_t size;
	struct buf head;
	struct arena *arena;
	struct arena message; /* of the current message */
	struct agent_reader agent;
	bool is_recorded;
};

static void artifact_capture_done(struct artifact_capture *k)
{
	blob_abort(k->writer);
	agent_reader_done(&k->agent);
	buf_done(&k->head);
	arena_done(&k->message);
}

static int fill_record(struct artifact_capture *k, struct error *err)
{
	const struct fleet_artifact_keep *q = k->request;
	const struct config *config = k->fleet->config;
	unsigned char secret[SECRET_SIZE];
	char *hex = ARENA_ARRAY(k->arena, char, 2 * SECRET_SIZE + 1);
	struct project_record project;
	struct id id = id_new();
	int64_t now = clock_unix_ms(), keep_ms = q->keep_ms;

	if (store_project_find(k->fleet->store, k->arena, q->project_id, &project, err) < 0)
		return -1;
	if (keep_ms == 0)
		keep_ms = project.artifacts_keep_ms ? project.artifacts_keep_ms
		                                    : config->artifacts_keep_ms;
	k->limits.bytes_max =
	        (project.artifacts_max_mb ? project.artifacts_max_mb : config->artifacts_max_mb) *
	        MIB;
	k->limits.count_max = FLEET_ARTIFACTS_MAX;
	randombytes_buf(secret, sizeof(secret));
	sodium_bin2hex(hex, 2 * SECRET_SIZE + 1, secret, sizeof(secret));
	k->record = (struct artifact_record){
	        .id = arena_text(k->arena, id.text),
	        .project_id = q->project_id,
	        .key_id = q->key_id ? q->key_id : "",
	        .sandbox_id = q->sandbox->id,
	        .sandbox_name = q->sandbox->name,
	        .run = q->run ? q->run : "",
	        .node = k->fleet->node,
	        .path = q->root ? arena_format(k->arena, "%s/%s",
	                                       strcmp(q->root, "/") ? q->root : "", q->path)
	                        : q->path,
	        .media_type = MEDIA_BYTES,
	        .sha256 = "",
	        .secret = hex,
	        .state = ARTIFACT_MAKING,
	        .process = q->process,
	        .job = q->job ? q->job : "",
	        .created_at = now,
	        .expires_at = keep_ms > 0 ? now + keep_ms : 0,
	        .metered_at = now,
	};
	return 0;
}

int64_t artifacts_patience(int64_t deadline)
{
	int64_t silence = deadline_after(SILENCE_MS);

	return silence < deadline ? silence : deadline;
}

static int open_file(struct artifact_capture *k, struct error *err)
{
	const struct fleet_artifact_keep *q = k->request;
	const struct agent_path message = {
	        .root = q->root ? q->root : "",
	        .path = q->path,
	        .target = "",
	        .user = q->user ? q->user : "",
	        .flags = q->root ? AGENT_PATH_BENEATH : 0,
	};
	const struct compute_request request = {AGENT_READ, agent_path_shape, &message, NULL};
	const struct agent_limits limits = {
	        .deadline = q->deadline, .rate_min = RATE_MIN, .grace_ms = SILENCE_MS};

	agent_reader_init(&k->agent, q->hold->provider, q->hold->id, &limits);
	/* No content arrives while the call waits for a connection, so the short deadline
	 * applies. */
	k->agent.limits.deadline = artifacts_patience(q->deadline);
	if (agent_reader_ask(&k->agent, &request, err) < 0)
		return -1;
	k->agent.limits.deadline = q->deadline;
	return 0;
}

static int take_file(struct artifact_capture *k, const struct agent_file *file, struct error *err)
{
	int64_t max = k->fleet->config->artifact_max_mb * MIB;
	struct blob_put put = {.name = blob_name(k->arena, k->record.id)};

	if (file->type != AGENT_FILE_REGULAR)
		return FAIL(err, ERROR_INVALID, "'%s' is no regular file", k->record.path);
	if (k->is_recorded)
		return FAIL(err, ERROR_SYSTEM, "the agent tells of two files");
	if (file->size > (uint64_t)max)
		return FAIL(err, ERROR_TOO_LARGE,
		            "'%s' has %llu bytes, and an artifact at most %lld MiB", k->record.path,
		            (unsigned long long)file->size,
		            (long long)k->fleet->config->artifact_max_mb);
	k->record.size_bytes = (int64_t)file->size;
	if (store_artifact_insert(k->fleet->store, &k->record, &k->limits, err) < 0)
		return -1;
	k->is_recorded = true;
	fault_point("api", "artifact-recorded");
	put.size_max = file->size > 0 ? (int64_t)file->size : 1;
	put.size_hint = (int64_t)file->size;
	return blob_put(k->fleet->blobs, &put, &k->writer, err);
}

static int take_data(struct artifact_capture *k, struct span bytes, struct error *err)
{
	size_t room = MEDIA_HEAD_SIZE - k->head.size;

	if (!k->is_recorded)
		return FAIL(err, ERROR_SYSTEM, "the agent sends bytes of no file");
	if ((int64_t)bytes.size > k->record.size_bytes - k->size) {
		(void)FAIL(err, ERROR_CONFLICT, "'%s' grew while it was read", k->record.path);
		return FAIL_HINT(err, "keep it when its writer is done");
	}
	k->size += (int64_t)bytes.size;
	buf_add(&k->head, bytes.data, bytes.size < room ? bytes.size : room);
	crypto_hash_sha256_update(&k->hash, (const unsigned char *)bytes.data, bytes.size);
	return fd_write_all(blob_writer_fd(k->writer), bytes.data, bytes.size, err);
}

static int take_message(struct artifact_capture *k, struct error *err)
{
	const struct span payload = buf_span(&k->agent.payload);
	struct agent_file file;

	arena_reset(&k->message);
	if (k->agent.type == AGENT_DATA)
		return take_data(k, payload, err);
	if (k->agent.has_ended && k->is_recorded)
		return 0;
	if (k->agent.type != AGENT_FILE)
		return agent_reader_refuse(&k->agent, err);
	if (wire_decode(&k->message, payload, agent_file_shape, &file, sizeof(file), err) < 0)
		return -1;
	return take_file(k, &file, err);
}

static int receive_file(struct artifact_capture *k, struct error *err)
{
	while (!k->agent.has_ended) {
		if (agent_reader_next(&k->agent, err) < 0)
			return FAIL_CONTEXT(err, "read '%s'", k->record.path);
		if (take_message(k, err) < 0)
			return -1;
	}
	return 0;
}

/* All bytes have arrived: commits the blob, then the row. */
static int finish_artifact(struct artifact_capture *k, struct error *err)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char *hex = ARENA_ARRAY(k->arena, char, 2 * sizeof(hash) + 1);
	int64_t size;

	crypto_hash_sha256_final(&k->hash, hash);
	sodium_bin2hex(hex, 2 * sizeof(hash) + 1, hash, sizeof(hash));
	k->record.sha256 = hex;
	k->record.size_bytes = k->size;
	k->record.media_type = media_type_of(k->record.path, buf_span(&k->head));
	fault_point("api", "artifact-written");
	if (blob_commit(TAKE(k->writer), &size, err) < 0)
		return -1;
	if (size != k->size)
		return FAIL(err, ERROR_SYSTEM, "the blob store kept %lld of %lld bytes",
		            (long long)size, (long long)k->size);
	fault_point("api", "artifact-stored");
	k->record.state = ARTIFACT_READY;
	return store_artifact_finish(k->fleet->store, &k->record, err);
}

static int drop_artifact(struct fleet *f, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};

	if (blob_delete(f->blobs, blob_name(&arena, id), err) < 0)
		return -1;
	fault_point("api", "artifact-dropped");
	return store_artifact_remove(f->store, id, err);
}

static void abort_artifact(struct artifact_capture *k)
{
	struct error err = {0};

	blob_abort(TAKE(k->writer));
	if (k->is_recorded && (store_artifact_retire(k->fleet->store, k->record.id, &err) < 0 ||
	                       drop_artifact(k->fleet, k->record.id, &err) < 0))
		log_warning("an artifact is cleared up later", TEXT("artifact", k->record.id),
		            FAILURE(&err));
}

static int check_support(const struct fleet *f, struct error *err)
{
	if (provider_require(f->provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	return f->blobs ? 0 : FAIL(err, ERROR_UNSUPPORTED, "this server has no blob store");
}

int fleet_artifact_keep(struct fleet *fleet, struct arena *a,
                        const struct fleet_artifact_keep *request, struct artifact_record *ret,
                        struct error *err)
{
	AUTO(artifact_capture_done)
	struct artifact_capture k = {
	        .fleet = fleet, .request = request, .arena = a, .head = BUF(MEDIA_HEAD_SIZE)};

	crypto_hash_sha256_init(&k.hash);
	if (check_support(fleet, err) < 0 || fill_record(&k, err) < 0 || open_file(&k, err) < 0)
		return -1;
	if (receive_file(&k, err) < 0 || finish_artifact(&k, err) < 0) {
		abort_artifact(&k);
		return -1;
	}
	*ret = k.record;
	return 0;
}

int fleet_artifact_open(struct fleet *fleet, const struct artifact_record *r, int64_t offset,
                        int64_t size, int *ret_fd, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct blob_range range = {offset, size};
	int64_t given;

	if (!fleet->blobs)
		return FAIL(err, ERROR_UNSUPPORTED, "this server has no blob store");
	if (blob_get(fleet->blobs, blob_name(&arena, r->id), range, ret_fd, &given, err) == 0)
		return 0;
	if (err->code == ERROR_NOT_FOUND && strcmp(r->node, fleet->node) != 0) {
		error_hint(err, "it was stored by node '%s'", r->node);
		error_elsewhere(err, r->node);
	}
	return -1;
}

static void sign_address(const struct artifact_record *r, int64_t expires_at,
                         unsigned char ret[crypto_auth_hmacsha256_BYTES])
{
	crypto_auth_hmacsha256_state state;
	char text[128];
	int size = snprintf(text, sizeof(text), "%.60s.%lld", r->id, (long long)expires_at);

	crypto_auth_hmacsha256_init(&state, (const unsigned char *)r->secret, strlen(r->secret));
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, (size_t)size);
	crypto_auth_hmacsha256_final(&state, ret);
}

/* A signature with which a client may fetch the artifact without a key until `expires_at` (unix
 * seconds). Hexadecimal. */
static void sign_artifact(const struct artifact_record *r, int64_t expires_at,
                          char ret[FLEET_ARTIFACT_SIGNATURE_SIZE + 1])
{
	unsigned char hash[crypto_auth_hmacsha256_BYTES];

	_Static_assert(2 * sizeof(hash) == FLEET_ARTIFACT_SIGNATURE_SIZE, "hex");
	sign_address(r, expires_at, hash);
	sodium_bin2hex(ret, FLEET_ARTIFACT_SIGNATURE_SIZE + 1, hash, sizeof(hash));
}

const char *fleet_artifact_address(struct arena *a, const struct artifact_record *r,
                                   int64_t expires_at)
{
	char signature[FLEET_ARTIFACT_SIGNATURE_SIZE + 1];

	sign_artifact(r, expires_at, signature);
	return arena_format(a, "/api/sandbox/artifacts/%s/download?expires=%lld&signature=%s",
	                    r->id, (long long)expires_at, signature);
}

bool fleet_artifact_is_signed(const struct artifact_record *r, int64_t expires_at,
                              const char *signature)
{
	char wanted[FLEET_ARTIFACT_SIGNATURE_SIZE + 1];

	sign_artifact(r, expires_at, wanted);
	return strlen(signature) == FLEET_ARTIFACT_SIGNATURE_SIZE &&
	       sodium_memcmp(wanted, signature, FLEET_ARTIFACT_SIGNATURE_SIZE) == 0;
}

/* Bytes of another node are deleted by that node. */
int artifact_retire(struct fleet *f, const struct artifact_record *r, struct error *err)
{
	if (store_artifact_retire(f->store, r->id, err) < 0)
		return -1;
	fault_point("api", "artifact-retired");
	return strcmp(r->node, f->node) == 0 ? drop_artifact(f, r->id, err) : 0;
}

int fleet_artifact_remove(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                          struct error *err)
{
	struct artifact_record r;

	if (check_support(fleet, err) < 0 ||
	    store_artifact_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0)
		return -1;
	return artifact_retire(fleet, &r, err);
}
