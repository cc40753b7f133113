/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/secrets — keys of the values that are encrypted in the database. */
#include "base/log.h"
#include "edge/api.h"
#include "json/json.h"
#include "store/secrets.h"
#include "surface/native/native.h"

struct secret_rotation_answer {
	int64_t resealed;
};
static const struct json_member rotation_shape_members[] = {
        JSON_WHOLE_MEMBER(secret_rotation_answer, resealed,
                          .about = "number of values that were encrypted again"),
};
static JSON_SHAPE(rotation_shape, "SecretRotation", secret_rotation_answer, "Result of a rotation");

static int secrets_rotate(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	struct secret_rotation_answer answer;
	uint64_t resealed;

	(void)body;
	if (store_secrets_rotate(api_of(rq)->store, &resealed, err) < 0)
		return -1;
	log_info("stored secrets are encrypted with a new key", NUMBER("resealed", resealed),
	         TEXT("by_key", api_key_id(rq)));
	answer.resealed = (int64_t)resealed;
	reply_json(reply, &rotation_shape, &answer);
	return 0;
}

const struct route secrets_routes[] = {
        {HTTP_POST, "/api/sandbox/secrets/rotate", SCOPE_ADMIN, ROUTE_SLOW,
         .answer = &rotation_shape, .handle = secrets_rotate, .tag = "keys",
         .summary = "Encrypt all stored environments with a new key"},
        {.path = NULL},
};
