/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of a file that are valid without an API key. Clients sign them with a key of the sandbox,
 * which they get from …/signing-key. */
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "base/path.h"
#include "calls/files.h"
#include "edge/audit.h"
#include "edge/hooks.h"
#include "edge/target.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/use.h"
#include "fleet/sandbox/preview.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"
#include "surface/preview/live.h"
#include "wire/agent.h"

#define SANDBOX DAYTONA_API "/sandbox/:id"
#define BASE DAYTONA_TOOLBOX "/:id/files"
#define VERSION "v1_"
#define MAC_SIZE crypto_auth_hmacsha256_BYTES
#define SIGNATURE_MAX 128
#define EXPIRES_MAX INT64_C(1000000000000)

/* The key is derived from the sandbox's id and the number of times its links were revoked. */
static void find_key(struct request *rq, const struct sandbox_record *r,
                     char ret[FLEET_ACCESS_TOKEN_SIZE + 1])
{
	const char *id =
	        arena_format(rq->arena, "%s.%lld", r->id, (long long)r->preview_generation);

	fleet_access_token(api_of(rq)->fleet, id, FLEET_ACCESS_SIGNING, ret);
}

static int reply_key(struct request *rq, struct reply *reply, const struct sandbox_record *r)
{
	char key[FLEET_ACCESS_TOKEN_SIZE + 1];

	find_key(rq, r, key);
	json_add_text(reply_buf(reply, "application/json"), NULL, key);
	return 0;
}

static int get_signing_key(struct request *rq, UNUSED const void *body, struct reply *reply,
                           struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record r;

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, err) < 0)
		return -1;
	return reply_key(rq, reply, &r);
}

/* This also revokes the links to the sandbox's previews. */
static int rotate_key(struct request *rq, UNUSED const void *body, struct reply *reply,
                      struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	const struct fleet_preview change = {.enabled = -1, .is_public = -1, .rotate = true};
	struct sandbox_record r;

	if (fleet_preview_set(api_of(rq)->fleet, rq->arena, &ref, &change, &r, err) < 0)
		return -1;
	preview_live_cut(api_of(rq), r.id, true);
	return reply_key(rq, reply, &r);
}

struct signed_file_query {
	const char *path, *signature;
	int64_t expires; /* unix seconds; 0 = never */
};
static const struct json_member signed_query_members[] = {
        JSON_TEXT_MEMBER(signed_file_query, path, .flags = JSON_REQUIRED, .min = 1,
                         .max = PATH_SIZE_MAX - 1),
        JSON_TEXT_MEMBER(signed_file_query, signature, .max = SIGNATURE_MAX),
        JSON_WHOLE_MEMBER(signed_file_query, expires, .max = EXPIRES_MAX),
};
static JSON_OPEN_SHAPE(signed_query, "DaytonaSignedFile", signed_file_query, "The file");

static int refuse_signature(struct error *err)
{
	return FAIL(err, ERROR_UNAUTHENTICATED, "this signature is invalid or has expired");
}

static int check_signature(struct request *rq, const struct sandbox_record *r, struct error *err)
{
	const struct signed_file_query *q = rq->query;
	const char *text = arena_format(rq->arena, "v1:files:%s:%s:%lld", rq->method_name, q->path,
	                                (long long)q->expires);
	char key[FLEET_ACCESS_TOKEN_SIZE + 1];
	crypto_auth_hmacsha256_state state;
	unsigned char mac[MAC_SIZE];
	struct span given;

	if (strncmp(q->signature, VERSION, strlen(VERSION)) != 0 ||
	    daytona_read_base64url(rq->arena, span_of(q->signature + strlen(VERSION)), &given,
	                           err) < 0)
		return refuse_signature(err);
	find_key(rq, r, key);
	crypto_auth_hmacsha256_init(&state, (const unsigned char *)key, strlen(key));
	crypto_auth_hmacsha256_update(&state, (const unsigned char *)text, strlen(text));
	crypto_auth_hmacsha256_final(&state, mac);
	if (given.size != sizeof(mac) || sodium_memcmp(given.data, mac, sizeof(mac)) != 0 ||
	    (q->expires > 0 && q->expires * 1000 <= clock_unix_ms()))
		return refuse_signature(err);
	return 0;
}

/* Checks the signature before it wakes the sandbox. */
static int open_signed(struct request *rq, struct api_target *ret, struct error *err)
{
	const struct fleet_use use = {.reason = USAGE_FILE_OPS};
	const struct fleet_ref ref = {.id_or_name = request_param(rq, "id"), .use = &use};
	struct fleet *fleet = api_of(rq)->fleet;
	struct sandbox_record r;
	struct fleet_hold hold;

	if (fleet_find(fleet, rq->arena, &ref, &r, err) < 0)
		return err->code == ERROR_NOT_FOUND ? refuse_signature(err) : -1;
	if (check_signature(rq, &r, err) < 0 ||
	    fleet_hold(fleet, rq->arena, &ref, &r, &hold, err) < 0)
		return -1;
	/* An upload has the row of a write. */
	if (rq->method == HTTP_GET)
		api_audit_link(rq, &(struct api_audit_use){.action = "files.link.open",
		                                           .target_kind = "instances",
		                                           .project_id = r.project_id,
		                                           .target_id = r.id});
	else
		api_audit_subject(rq, r.id);
	return api_target_take(rq, &r, &hold, ret, err);
}

/* Without a signature a key authorizes the request. */
static int open_file(struct request *rq, struct api_target *ret, struct files_call *call,
                     struct error *err)
{
	const struct signed_file_query *q = rq->query;

	if (q->signature) {
		if (open_signed(rq, ret, err) < 0)
			return -1;
	} else if (api_authorize(rq, rq->route, err) < 0 || daytona_target_open(rq, ret, err) < 0) {
		return -1;
	}
	call->path.user = ret->user;
	return files_resolve(rq, ret, q->path, &call->path.path, err);
}

static int download_file(struct request *rq, UNUSED const void *body, struct reply *reply,
                         struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_READ};

	if (open_file(rq, &t, &call, err) < 0)
		return -1;
	return files_download(rq, &t, &call, reply, err);
}

static int upload_file(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	struct files_call call = {.type = AGENT_WRITE};

	if (open_file(rq, &t, &call, err) < 0)
		return -1;
	return daytona_upload_one(rq, &t, call.path.path, reply, err);
}

#define TAG .tag = "daytona"
const struct route daytona_signed_routes[] = {
        {HTTP_GET, SANDBOX "/signing-key", SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN,
         .handle = get_signing_key, TAG, .summary = "Get the key for signing URLs of files"},
        {HTTP_POST, SANDBOX "/signing-key/rotate", SCOPE_SANDBOX_WRITE, ROUTE_HIDDEN,
         .handle = rotate_key, TAG, .summary = "Revoke all signed URLs"},
        {HTTP_GET, BASE "/download", SCOPE_SANDBOX_READ, ROUTE_HIDDEN | ROUTE_PUBLIC,
         .query = &signed_query, .handle = download_file, TAG, .summary = "Read a file"},
        {HTTP_POST, BASE "/upload-v2", SCOPE_SANDBOX_WRITE,
         ROUTE_HIDDEN | ROUTE_PUBLIC | ROUTE_STREAM_BODY, .query = &signed_query,
         .handle = upload_file, TAG, .summary = "Write a file"},
        {.path = NULL},
};
