/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/envd/changes.h"

#include <errno.h>

#include "edge/target.h"
#include "json/write.h"
#include "provider/provider.h"
#include "surface/envd/envd.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

void changes_init(struct changes *c)
{
	*c = (struct changes){BUF(CHANGES_EVENT_MAX), BUF(CHANGES_EVENT_MAX)};
}

void changes_done(struct changes *c)
{
	buf_done(&c->entry);
	buf_done(&c->event);
}

static int take_change(struct changes *c, const struct agent_change *change, struct span *ret,
                       struct error *err)
{
	static const char *const names[] = {
	        [AGENT_CREATED] = "EVENT_TYPE_CREATE", [AGENT_MODIFIED] = "EVENT_TYPE_WRITE",
	        [AGENT_REMOVED] = "EVENT_TYPE_REMOVE", [AGENT_RENAMED] = "EVENT_TYPE_RENAME",
	        [AGENT_CHMODDED] = "EVENT_TYPE_CHMOD",
	};

	if (change->kind == AGENT_LOST)
		return FAIL(err, ERROR_LIMIT,
		            "events were lost: there were too many changes at once");
	if (change->kind >= COUNT_OF(names))
		return FAIL(err, ERROR_SYSTEM, "the agent sent a change of unknown kind %u",
		            change->kind);
	buf_reset(&c->event);
	json_begin_object(&c->event, NULL);
	json_add_text(&c->event, "name", change->path[0] ? change->path : ".");
	json_add_text(&c->event, "type", names[change->kind]);
	if (c->entry.size > 0 && !c->entry.overflowed)
		json_add_raw(&c->event, "entry", buf_span(&c->entry));
	json_end_object(&c->event);
	buf_reset(&c->entry);
	*ret = buf_span(&c->event);
	return 1;
}

int changes_take_message(struct changes *c, struct arena *a, uint16_t type, struct span payload,
                         struct span *ret, struct error *err)
{
	struct agent_change change;
	struct agent_entry entry;

	if (type == AGENT_CHANGE) {
		if (wire_decode(a, payload, agent_change_shape, &change, sizeof(change), err) < 0)
			return -1;
		return take_change(c, &change, ret, err);
	}
	if (type != AGENT_ENTRY)
		return FAIL(err, ERROR_SYSTEM, "the agent sent the unexpected message %u", type);
	if (wire_decode(a, payload, agent_entry_shape, &entry, sizeof(entry), err) < 0)
		return -1;
	buf_reset(&c->entry);
	envd_write_entry(&c->entry, &entry);
	return 0;
}

int changes_read_request(struct request *rq, const struct api_target *t,
                         const struct json_value *body, struct agent_path *ret, struct error *err)
{
	const char *path = json_text(json_get(body, "path"), ""), *user;

	if (!path[0])
		return FAIL(err, ERROR_INVALID, "path is missing");
	if (provider_require(t->provider, PROVIDER_CAN_FILES, err) < 0 ||
	    envd_user_find(rq, t, NULL, &user, err) < 0)
		return -1;
	*ret = envd_path_of(path, user);
	ret->target = ENVD_METADATA;
	if (json_bool(json_get(body, "recursive"), false))
		ret->flags |= AGENT_PATH_RECURSIVE;
	if (json_bool(json_get(body, "includeEntry"), false))
		ret->flags |= AGENT_PATH_ENTRIES;
	return 0;
}

void changes_translate_error(struct error *err)
{
	envd_error_translate(err);
	if (err->sys_errno == ENOTDIR)
		err->code = ERROR_INVALID;
}
