/* SPDX-License-Identifier: Apache-2.0 */
/* filesystem.Filesystem/{CreateWatcher,GetWatcherEvents,RemoveWatcher}. */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "surface/envd/changes.h"
#include "surface/envd/watchers.h"
#include "wire/agent.h"

#define BODY_MAX_BYTES ((size_t)64 * 1024)

struct watcher_call {
	struct request *rq;
	struct api_target target;
	const struct json_value *body;
	struct buf *out;
};

static void watcher_call_done(struct watcher_call *c)
{
	api_target_done(&c->target);
}

static const char *id_of(const struct watcher_call *c)
{
	return json_text(json_get(c->body, "watcherId"), "");
}

/* After READY the watcher reads the connection. */
static int await_ready(struct agent_reader *r, struct error *err)
{
	if (agent_reader_expect(r, AGENT_READY, err) == 0)
		return 0;
	if (r->type == AGENT_FAILED)
		changes_translate_error(err);
	return -1;
}

static int create_watcher(struct watcher_call *c, struct error *err)
{
	struct agent_path message;
	const struct compute_request request = {AGENT_WATCH, agent_path_shape, &message, NULL};
	const struct fleet_hold *hold = &c->target.hold;
	AUTO(agent_reader_done) struct agent_reader r;
	char id[ID_SIZE + 1];

	agent_reader_init(&r, hold->provider, hold->id,
	                  &(struct agent_limits){.deadline = c->rq->deadline});
	if (changes_read_request(c->rq, &c->target, c->body, &message, err) < 0 ||
	    agent_reader_ask(&r, &request, err) < 0 || await_ready(&r, err) < 0 ||
	    watchers_add(api_of(c->rq)->envd_watchers, hold->id, TAKE_FD(r.fd), id, err) < 0)
		return -1;
	buf_addf(c->out, "{\"watcherId\":\"%s\"}", id);
	return 0;
}

static int get_events(struct watcher_call *c, struct error *err)
{
	buf_add_text(c->out, "{\"events\":[");
	if (watchers_take_events(api_of(c->rq)->envd_watchers, c->target.hold.id, id_of(c), c->out,
	                         err) < 0)
		return -1;
	buf_add_text(c->out, "]}");
	return 0;
}

static int remove_watcher(struct watcher_call *c, struct error *err)
{
	buf_add_text(c->out, "{}");
	return watchers_remove(api_of(c->rq)->envd_watchers, c->target.hold.id, id_of(c), err);
}

static int handle_call(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	static const struct {
		const char *name;
		int (*call)(struct watcher_call *c, struct error *err);
	} calls[] = {
	        {"CreateWatcher", create_watcher},
	        {"GetWatcherEvents", get_events},
	        {"RemoveWatcher", remove_watcher},
	};
	AUTO(watcher_call_done) struct watcher_call c = {.rq = rq};
	int opened = envd_target_open(rq, reply, &c.target, err);
	size_t i = 0;

	if (opened != 0)
		return opened < 0 ? -1 : 0;
	if (request_may_block(rq, err) < 0 || envd_read_json(rq, &c.body, err) < 0)
		return -1;
	c.out = reply_buf(reply, "application/json");
	while (i < COUNT_OF(calls) && strcmp(calls[i].name, path_last(rq->route->path)) != 0)
		i++;
	assert(i < COUNT_OF(calls)); /* every route row has a call */
	return calls[i].call(&c, err);
}

#define ROW(name)                                                                                  \
	{                                                                                          \
		.method = HTTP_POST, .path = "/filesystem.Filesystem/" name,                       \
		.flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN, .body_max = BODY_MAX_BYTES, \
		.handle = handle_call, .tag = CONNECT_TAG, .summary = "filesystem." name           \
	}
const struct route envd_watcher_routes[] = {
        ROW("CreateWatcher"),
        ROW("GetWatcherEvents"),
        ROW("RemoveWatcher"),
        {.path = NULL},
};
