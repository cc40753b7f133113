/* SPDX-License-Identifier: Apache-2.0 */
/* Callers with the cookie of a login. */
#include <string.h>

#include "base/clock.h"
#include "edge/api.h"
#include "edge/cookie.h"
#include "edge/keys.h"
#include "http/server/http.h"
#include "json/json.h"
#include "sign_in/sign_in.h"

static bool knows_project(const struct route *route)
{
	for (const struct json_member *m = route->query ? route->query->members : NULL;
	     m && m < json_shape_end(route->query); m++)
		if (strcmp(json_member_name(m), "project") == 0)
			return true;
	return false;
}

/* The value of "project"; the other members go to `rest`. */
static struct span split_query(struct span query, struct buf *rest)
{
	struct span member, name, value, found = {NULL, 0};

	while (query.size) {
		(void)span_split(&query, '&', &member);
		value = member;
		(void)span_split(&value, '=', &name);
		if (span_equals_text(name, "project")) {
			found = value;
			continue;
		}
		if (rest->size)
			buf_add_byte(rest, '&');
		buf_add_span(rest, member);
	}
	return found;
}

const char *api_find_project(struct request *rq)
{
	const char *header = request_header(rq, "X-Atoll-Project");
	AUTO(buf_done) struct buf rest = BUF(rq->raw_query.size + 1);
	struct span found = split_query(rq->raw_query, &rest);

	if (header)
		return header;
	return found.size ? arena_copy(rq->arena, found) : NULL;
}

void api_drop_project(struct request *rq, const struct route *route)
{
	AUTO(buf_done) struct buf rest = BUF(rq->raw_query.size + 1);

	if (split_query(rq->raw_query, &rest).size && !knows_project(route))
		rq->raw_query = (struct span){arena_copy(rq->arena, buf_span(&rest)), rest.size};
}

/* The user as a key that acts in one project. A user in no project has no scope, but may do what
 * concerns the person: the password, sessions, organisations. */
static int record_of_user(struct api *api, struct arena *a, const struct sign_in_found *found,
                          const char *wanted, struct key_record *ret, struct error *err)
{
	struct sign_in_place place;

	if (sign_in_choose_project(api->sign_in, a, &found->user, wanted, &place, err) < 0) {
		if (wanted || err->code != ERROR_FORBIDDEN)
			return -1;
		error_clear(err);
		place = (struct sign_in_place){.project_id = ""};
	}
	*ret = (struct key_record){
	        .id = found->user.id,
	        .project_id = place.project_id,
	        .user_id = found->user.email,
	        .scopes = place.scopes,
	        .expires_at = found->login.expires_at,
	};
	return 0;
}

int api_login_look(struct api *api, struct arena *a, const struct login_lookup *lookup,
                   struct key_record *ret, struct error *err)
{
	struct sign_in_found found;

	int result = lookup->is_use
	                     ? sign_in_find_login(api->sign_in, a, lookup->hash, &found, err)
	                     : sign_in_look_login(api->sign_in, a, lookup->hash, &found, err);

	if (result < 0)
		return -1;
	if (found.login.kind != LOGIN_KEY)
		return record_of_user(api, a, &found, lookup->project, ret, err);
	*ret = found.key;
	ret->expires_at = found.login.expires_at;
	return 0;
}

int api_find_login(struct request *rq, const unsigned char hash[ACCOUNT_HASH_SIZE],
                   const char *wanted, struct key_record *ret, struct error *err)
{
	struct api *api = api_of(rq);
	const struct login_lookup lookup = {.hash = hash, .project = wanted, .is_use = true};
	int64_t now = clock_monotonic_ms();
	unsigned char place[ACCOUNT_HASH_SIZE];
	struct api_key_found cached;

	sign_in_hash_in_project(hash, wanted ? wanted : "", place);
	if (api_key_cache_find(api->keys, rq->arena, place, now, &cached)) {
		*ret = cached.record;
		return 0;
	}
	if (request_may_block(rq, err) < 0 || api_login_look(api, rq->arena, &lookup, ret, err) < 0)
		return -1;
	memcpy(ret->hash, place, sizeof(ret->hash));
	api_key_cache_put(api->keys, cached.ticket, ret, now);
	return 0;
}
