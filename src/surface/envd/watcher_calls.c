/* SPDX-License-Identifier: Apache-2.0 */
/* filesystem.Filesystem/{CreateWatcher,GetWatcherEvents,RemoveWatcher}. */
#include <unistd.h>

#include "edge/api.h"
#include "edge/target.h"
#include "fleet/core/fleet_hold.h"
#include "json/write.h"
#include "provider/agent_reader.h"
#include "provider/compute.h"
#include "surface/envd/changes.h"
#include "surface/envd/envd.h"
#include "surface/envd/surface.h"
#include "surface/envd/unary.h"
#include "surface/envd/watchers.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

static const char *id_of(const struct unary_call *c)
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

static int create_watcher(struct unary_call *c, struct error *err)
{
	struct agent_path message;
	const struct compute_request request = {AGENT_WATCH, agent_path_shape, &message, NULL};
	const struct fleet_hold *hold = c->target->hold;
	AUTO(agent_reader_done) struct agent_reader r;
	char id[ID_SIZE + 1];

	agent_reader_init(&r, hold->provider, hold->id,
	                  &(struct agent_limits){.deadline = c->rq->deadline});
	if (changes_read_request(c->rq, c->target, c->body, &message, err) < 0 ||
	    agent_reader_ask(&r, &request, err) < 0 || await_ready(&r, err) < 0 ||
	    watchers_add(api_of(c->rq)->envd->watchers, hold->id, TAKE_FD(r.fd), id, err) < 0)
		return -1;
	json_begin_object(c->out, NULL);
	json_add_text(c->out, "watcherId", id);
	json_end_object(c->out);
	return 0;
}

static int get_events(struct unary_call *c, struct error *err)
{
	json_begin_object(c->out, NULL);
	json_begin_list(c->out, "events");
	if (watchers_take_events(api_of(c->rq)->envd->watchers, c->target->id, id_of(c), c->out,
	                         err) < 0)
		return -1;
	json_end_list(c->out);
	json_end_object(c->out);
	return 0;
}

static int remove_watcher(struct unary_call *c, struct error *err)
{
	buf_add_text(c->out, "{}");
	return watchers_remove(api_of(c->rq)->envd->watchers, c->target->id, id_of(c), err);
}

#define PATH "/filesystem.Filesystem/"
const struct unary_method watcher_methods[] = {
        {PATH "CreateWatcher", create_watcher},
        {PATH "GetWatcherEvents", get_events},
        {PATH "RemoveWatcher", remove_watcher},
        {.path = NULL},
};
const struct route envd_watcher_routes[] = {
        UNARY_ROW(PATH "CreateWatcher", 0),
        UNARY_ROW(PATH "GetWatcherEvents", 0),
        UNARY_ROW(PATH "RemoveWatcher", 0),
        {.path = NULL},
};
