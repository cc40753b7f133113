/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox as the native API answers it. */
#include "surface/native/sandbox_answer.h"

#include <string.h>

#include "base/clock.h"
#include "config/config.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/preview.h"
#include "json/write.h"
#include "provider/agent_health.h"
#include "provider/reports.h"
#include "provider/set.h"
#include "store/relations.h"
#include "store/sandbox_record.h"
#include "surface/native/egress.h"
#include "surface/native/native.h"
#include "surface/native/resources.h"
#include "surface/native/timeouts.h"

struct last_event_answer {
	int64_t at;
	const char *text;
};
static const struct json_member last_event_shape_members[] = {
        JSON_TIME_MEMBER(last_event_answer, at),
        JSON_TEXT_MEMBER(last_event_answer, text),
};
static JSON_SHAPE(last_event_shape, "LastEvent", last_event_answer, "The last event of a sandbox");

struct sandbox_preview_answer {
	bool enabled, is_public, sharing_enabled;
	const char *ports;
};
static const struct json_member sandbox_preview_shape_members[] = {
        JSON_BOOL_MEMBER(sandbox_preview_answer, enabled),
        JSON_BOOL_MEMBER(sandbox_preview_answer, is_public, .name = "public"),
        JSON_TEXT_MEMBER(sandbox_preview_answer, ports, .flags = JSON_NULLABLE,
                         .about = "ports that the server and the template allow, or any; only GET "
                                  "of one sandbox returns it, other replies have null"),
        JSON_BOOL_MEMBER(sandbox_preview_answer, sharing_enabled, .name = "sharingEnabled",
                         .about = "whether the server allows links for people without a key"),
};
static JSON_SHAPE(sandbox_preview_shape, "SandboxPreview", sandbox_preview_answer,
                  "Preview settings; details at /preview");

struct sandbox_origin_answer {
	const char *kind, *snapshot, *snapshot_name, *sandbox, *sandbox_name;
};
static const struct json_member sandbox_origin_members[] = {
        JSON_TEXT_MEMBER(sandbox_origin_answer, kind, .flags = JSON_NULLABLE,
                         .about = "template or snapshot; a fork is made from a snapshot"),
        JSON_TEXT_MEMBER(sandbox_origin_answer, snapshot, .flags = JSON_NULLABLE,
                         .about = "id of the snapshot"),
        JSON_TEXT_MEMBER(sandbox_origin_answer, snapshot_name, .flags = JSON_NULLABLE,
                         .about = "null: the snapshot or template is deleted"),
        JSON_TEXT_MEMBER(sandbox_origin_answer, sandbox, .flags = JSON_NULLABLE,
                         .about = "id of the sandbox that the snapshot was taken of; for a fork, "
                                  "the sandbox that was forked"),
        JSON_TEXT_MEMBER(sandbox_origin_answer, sandbox_name, .flags = JSON_NULLABLE),
};
static JSON_SHAPE(sandbox_origin, "SandboxOrigin", sandbox_origin_answer,
                  "What a sandbox was made from");

static const struct json_member lineage_step_shape_members[] = {
        JSON_TEXT_MEMBER(lineage_step, kind, .about = "snapshot or template"),
        JSON_TEXT_MEMBER(lineage_step, id),
        JSON_TEXT_MEMBER(lineage_step, name, .flags = JSON_NULLABLE,
                         .about = "null: the snapshot or template is deleted"),
        JSON_TEXT_MEMBER(lineage_step, sandbox, .flags = JSON_NULLABLE,
                         .about = "id of the sandbox that the snapshot was taken of"),
        JSON_TEXT_MEMBER(lineage_step, sandbox_name, .flags = JSON_NULLABLE),
};
JSON_SHAPE(lineage_step_shape, "LineageStep", lineage_step,
           "A snapshot or template below a sandbox's files");

static const struct json_member attached_volume_members[] = {
        JSON_TEXT_MEMBER(attached_volume_answer, volume, .about = "name"),
        JSON_TEXT_MEMBER(attached_volume_answer, volume_id),
        JSON_TEXT_MEMBER(attached_volume_answer, path, .about = "mount point in the sandbox"),
        JSON_BOOL_MEMBER(attached_volume_answer, read_only),
};
JSON_SHAPE(attached_volume, "AttachedVolume", attached_volume_answer, "A volume of a sandbox");

struct sandbox_creator_answer {
	const char *key, *user;
};
static const struct json_member sandbox_creator_members[] = {
        JSON_TEXT_MEMBER(sandbox_creator_answer, key, .flags = JSON_NULLABLE,
                         .about = "id of the key, or of the user of a session"),
        JSON_TEXT_MEMBER(sandbox_creator_answer, user, .flags = JSON_NULLABLE,
                         .about = "user of the session, or member that the key belongs to"),
};
static JSON_SHAPE(sandbox_creator, "SandboxCreator", sandbox_creator_answer,
                  "The key and the user that made a sandbox");

struct sandbox_place_answer {
	const char *node, *object, *region;
};
static const struct json_member sandbox_place_shape_members[] = {
        JSON_TEXT_MEMBER(sandbox_place_answer, node, .flags = JSON_NULLABLE,
                         .about = "of the cluster; null: no node has taken it yet, or there is no "
                                  "cluster"),
        JSON_TEXT_MEMBER(sandbox_place_answer, object, .flags = JSON_NULLABLE,
                         .about = "name of the pod, or id of the sandbox in the account"),
        JSON_TEXT_MEMBER(sandbox_place_answer, region, .flags = JSON_NULLABLE,
                         .about = "of the account"),
};
static JSON_SHAPE(sandbox_place_shape, "SandboxPlace", sandbox_place_answer,
                  "Where the provider runs a sandbox");

struct sandbox_answer {
	const char *id, *name, *state, *desired_state, *reason, *agent;
	const char *template, *provider, *isolation, *placed, *region, *project, *network;
	struct span labels;
	const char **env_names, **unsupported;
	struct resources_body resources;
	bool persistent;
	int64_t created_at, started_at, last_activity_at, timeout_at, uptime_ms;
	struct sandbox_place_answer place;
	struct sandbox_timeouts timeouts;
	int64_t awake_until;
	struct sandbox_preview_answer preview;
	struct native_egress egress;
	const char *egress_cut;
	struct last_event_answer last_event;
	struct sandbox_origin_answer made_from;
	struct json_list lineage, volumes;
	struct sandbox_creator_answer created_by;
	int64_t version;
};
static const struct json_member sandbox_shape_members[] = {
        JSON_TEXT_MEMBER(sandbox_answer, id),
        JSON_TEXT_MEMBER(sandbox_answer, name),
        JSON_TEXT_MEMBER(sandbox_answer, state, .choices = sandbox_state_choices,
                         .about = "current state"),
        JSON_TEXT_MEMBER(sandbox_answer, desired_state, .choices = sandbox_state_choices,
                         .about = "last requested state"),
        JSON_TEXT_MEMBER(sandbox_answer, reason, .choices = sandbox_reason_choices,
                         .about = "why the sandbox ended or was paused"),
        JSON_TEXT_MEMBER(
                sandbox_answer, agent, .flags = JSON_NULLABLE,
                .about = "ok, or unresponsive: the agent does not answer, and calls that need it "
                         "are refused until it does; null: the sandbox does not run"),
        JSON_TEXT_MEMBER(sandbox_answer, template),
        JSON_TEXT_MEMBER(sandbox_answer, provider, .about = "name of the provider that has it"),
        JSON_TEXT_MEMBER(sandbox_answer, isolation, .about = "isolation in effect"),
        JSON_TEXT_MEMBER(sandbox_answer, placed, .flags = JSON_NULLABLE,
                         .about = "why it is at this provider: what named it, or the routing rule, "
                                  "and why providers before it were not taken or failed; null: "
                                  "there was no choice"),
        JSON_OBJECT_MEMBER(sandbox_answer, place, &sandbox_place_shape, .flags = JSON_NULLABLE,
                           .about = "where the provider runs it; null: on this machine"),
        JSON_TEXT_LIST_MEMBER(sandbox_answer, unsupported,
                              .about = "what its provider cannot do; such calls answer 501"),
        JSON_TEXT_MEMBER(sandbox_answer, region),
        JSON_TEXT_MEMBER(sandbox_answer, project),
        JSON_TEXT_MEMBER(sandbox_answer, network, .about = "blocked or internet"),
        JSON_RAW_MEMBER(sandbox_answer, labels, .about = "object of strings"),
        JSON_TEXT_LIST_MEMBER(
                sandbox_answer, env_names,
                .about = "names of the environment variables; values are never returned"),
        JSON_OBJECT_MEMBER(sandbox_answer, resources, &resources_answer),
        JSON_BOOL_MEMBER(sandbox_answer, persistent),
        JSON_TIME_MEMBER(sandbox_answer, created_at),
        JSON_TIME_MEMBER(sandbox_answer, started_at, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(sandbox_answer, last_activity_at, .flags = JSON_NULLABLE),
        JSON_TIME_MEMBER(sandbox_answer, timeout_at, .flags = JSON_NULLABLE),
        JSON_WHOLE_MEMBER(sandbox_answer, uptime_ms,
                          .about = "time since the start; 0 while stopped"),
        SANDBOX_TIMEOUTS(TIMEOUT_ANSWER, sandbox_answer),
        JSON_TIME_MEMBER(sandbox_answer, awake_until, .flags = JSON_NULLABLE,
                         .about = "the idle timeout is suspended until this time"),
        JSON_OBJECT_MEMBER(sandbox_answer, preview, &sandbox_preview_shape),
        JSON_OBJECT_MEMBER(sandbox_answer, egress, &native_egress_shape),
        JSON_TEXT_MEMBER(sandbox_answer, egress_cut, .flags = JSON_NULLABLE,
                         .about = "why it reaches no address, whatever its rules say: a quota of "
                                  "sent bytes is used up; null: its rules decide"),
        JSON_OBJECT_MEMBER(sandbox_answer, last_event, &last_event_shape),
        JSON_OBJECT_MEMBER(sandbox_answer, made_from, &sandbox_origin, .flags = JSON_NULLABLE,
                           .about = "only GET of one sandbox and GET of the list return it; other "
                                    "replies have null"),
        JSON_LIST_MEMBER(sandbox_answer, lineage, &lineage_step_shape, .flags = JSON_NULLABLE,
                         .about = "snapshots below the sandbox's files, uppermost first, at most "
                                  "64, then the template; only GET of one sandbox returns it, "
                                  "other replies have null"),
        JSON_LIST_MEMBER(sandbox_answer, volumes, &attached_volume, .flags = JSON_NULLABLE,
                         .about = "attached volumes; only GET of one sandbox and GET of the list "
                                  "return them, other replies have null"),
        JSON_OBJECT_MEMBER(sandbox_answer, created_by, &sandbox_creator),
        JSON_WHOLE_MEMBER(sandbox_answer, version,
                          .about = "grows with every change, but not with last_activity_at; of two "
                                   "replies about a sandbox, that with the higher version is the "
                                   "newer one"),
};
_Static_assert(COUNT_OF(sandbox_shape_members) <= 64, "fields= has a bit per member");
JSON_SHAPE(sandbox_shape, "Sandbox", sandbox_answer, "An isolated computer");

struct json_list lineage_answer(struct arena *a, const struct relation_list *relations,
                                const struct lineage_step *template)
{
	struct lineage_step *steps = ARENA_ARRAY(a, struct lineage_step, relations->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < relations->count; i++) {
		const struct relation_record *r = &relations->items[i];

		if (r->kind == RELATION_BELOW)
			steps[count++] = (struct lineage_step){
			        "snapshot", r->id, text_or_null(r->name),
			        text_or_null(r->sandbox_id), text_or_null(r->sandbox_name)};
	}
	steps[count++] = *template;
	return (struct json_list){steps, count, true};
}

static struct json_list make_volume_list(struct arena *a, const struct relation_list *relations)
{
	struct attached_volume_answer *items =
	        ARENA_ARRAY(a, struct attached_volume_answer, relations->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < relations->count; i++) {
		const struct relation_record *r = &relations->items[i];

		if (r->kind == RELATION_VOLUME)
			items[count++] = (struct attached_volume_answer){r->name, r->id, r->path,
			                                                 r->is_read_only};
	}
	return (struct json_list){items, count, true};
}

static struct sandbox_origin_answer find_origin(const struct relation_list *relations)
{
	for (size_t i = 0; i < relations->count; i++) {
		const struct relation_record *r = &relations->items[i];

		if (r->kind == RELATION_ORIGIN)
			return (struct sandbox_origin_answer){
			        "snapshot", r->id, text_or_null(r->name),
			        text_or_null(r->sandbox_id), text_or_null(r->sandbox_name)};
	}
	return (struct sandbox_origin_answer){.kind = "template"};
}

static const char **list_env_names(struct arena *a, const char *env_json)
{
	const struct json_value *env;
	const char **names;
	struct error ignored;
	size_t count;

	if (json_load(a, span_of(env_json), &env, &ignored) < 0)
		env = NULL;
	count = json_count(env);
	names = ARENA_ARRAY(a, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		(void)json_member_at(env, i, &names[i]);
	return names;
}

/* The abilities that the provider does not have. */
static const char **list_unsupported(struct arena *a, const struct provider_ops *ops)
{
	const char **names = ARENA_ARRAY(a, const char *, PROVIDER_ABILITY_COUNT + 1);
	size_t count = 0;

	for (unsigned i = 0; ops && i < PROVIDER_ABILITY_COUNT; i++)
		if (!(ops->abilities & 1U << i))
			names[count++] = provider_ability_name((enum provider_ability)(1U << i));
	return names;
}

static const char *agent_state_name(const struct sandbox_record *r)
{
	if (r->actual != SANDBOX_STARTED)
		return NULL;
	return agent_health_is_unresponsive(r->id) ? "unresponsive" : "ok";
}

static struct sandbox_place_answer place_of(const struct api *api, struct arena *a,
                                            const struct sandbox_record *r)
{
	struct provider_place place;

	if (!sandbox_place(api->fleet, r, &place))
		return (struct sandbox_place_answer){.node = NULL};
	return (struct sandbox_place_answer){text_or_null(arena_text(a, place.node)),
	                                     text_or_null(arena_text(a, place.object)),
	                                     text_or_null(arena_text(a, place.region))};
}

static void fill_sandbox_answer(const struct api *api, struct arena *a,
                                const struct sandbox_record *r, struct sandbox_answer *ret)
{
	const struct provider_ops *ops = sandbox_provider_ops(api->fleet, r);
	bool runs =
	        (r->actual == SANDBOX_STARTED || r->actual == SANDBOX_PAUSED) && r->started_at > 0;

	*ret = (struct sandbox_answer){
	        .id = r->id,
	        .name = r->name,
	        .state = sandbox_state_name(r->actual),
	        .desired_state = sandbox_state_name(r->desired),
	        .reason = sandbox_reason_name(r->reason),
	        .agent = agent_state_name(r),
	        .template = r->template_name,
	        .provider = r->provider,
	        .isolation = ops ? ops->isolation : "none",
	        .placed = text_or_null(r->placed),
	        .place = place_of(api, a, r),
	        .unsupported = list_unsupported(a, ops),
	        .region = r->region,
	        .project = r->project_id,
	        .network = r->network == SANDBOX_NETWORK_INTERNET ? "internet" : "blocked",
	        .labels = r->labels_json[0] ? span_of(r->labels_json) : SPAN("{}"),
	        .env_names = list_env_names(a, r->env_json),
	        .resources = {r->resources.cpu, r->resources.memory_mb, r->resources.disk_mb,
	                      r->resources.pids, r->disk_is_advisory},
	        .persistent = r->persistent,
	        .created_at = r->created_at,
	        .started_at = r->started_at,
	        .last_activity_at = r->last_activity_at,
	        .timeout_at = r->timeout_at,
	        .uptime_ms = runs ? clock_unix_ms() - r->started_at : 0,
	        .timeouts = r->timeouts,
	        .awake_until = r->awake_until,
	        .preview = {!r->preview_off, r->preview_public, api->config->preview_sharing, NULL},
	        .egress = native_egress_parse(a, r->egress, r->rules_json),
	        .egress_cut = native_egress_cut(a, r->egress_cut),
	        .last_event = {.at = r->last_event_at, .text = r->last_event},
	        .created_by = {text_or_null(r->key_id), text_or_null(r->user_id)},
	        .version = r->version,
	};
}

int sandbox_reply(struct request *rq, struct reply *reply, const struct sandbox_record *r)
{
	struct sandbox_answer out;

	fill_sandbox_answer(api_of(rq), rq->arena, r, &out);
	reply_json(reply, &sandbox_shape, &out);
	return 0;
}

struct json_list sandbox_answers(struct request *rq, const struct sandbox_record *records,
                                 size_t count)
{
	struct sandbox_answer *items = ARENA_ARRAY(rq->arena, struct sandbox_answer, count);

	for (size_t i = 0; i < count; i++)
		fill_sandbox_answer(api_of(rq), rq->arena, &records[i], &items[i]);
	return (struct json_list){items, count, true};
}

int sandbox_reply_with_relations(struct request *rq, struct reply *reply,
                                 const struct sandbox_record *r, struct error *err)
{
	const struct lineage_step template = {
	        .kind = "template", .id = r->template_id, .name = text_or_null(r->template_name)};
	struct relation_list relations;
	struct sandbox_answer out;

	fill_sandbox_answer(api_of(rq), rq->arena, r, &out);
	if (fleet_preview_ports(api_of(rq)->fleet, rq->arena, r, &out.preview.ports, err) < 0 ||
	    store_relations_of(api_of(rq)->store, rq->arena, r->id, &relations, err) < 0)
		return -1;
	out.made_from = find_origin(&relations);
	out.lineage = lineage_answer(rq->arena, &relations, &template);
	out.volumes = make_volume_list(rq->arena, &relations);
	reply_json(reply, &sandbox_shape, &out);
	return 0;
}

static const char *ids_object(struct arena *a, const struct sandbox_record *records, size_t count)
{
	AUTO(buf_done) struct buf out = BUF(count * (ID_SIZE + 16) + 16);

	json_begin_object(&out, NULL);
	for (size_t i = 0; i < count; i++)
		json_add_whole(&out, records[i].id, 1);
	json_end_object(&out);
	return arena_copy(a, buf_span(&out));
}

static void add_relations(struct arena *a, const struct relation_list *all,
                          struct sandbox_answer *answer)
{
	const struct relation_list own = relations_of(all, answer->id);

	answer->made_from = find_origin(&own);
	answer->volumes = make_volume_list(a, &own);
}

int sandbox_answers_with_relations(struct request *rq, const struct sandbox_record *records,
                                   size_t count, struct json_list *ret, struct error *err)
{
	const struct relation_page page = {.project_id = api_project(rq),
	                                   .ids = ids_object(rq->arena, records, count)};
	struct relation_list all = {.count = 0};
	struct json_list answers = sandbox_answers(rq, records, count);
	struct sandbox_answer *items = answers.items;

	if (count > 0 &&
	    store_relations_of_page(api_of(rq)->store, rq->arena, &page, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		add_relations(rq->arena, &all, &items[i]);
	*ret = answers;
	return 0;
}

bool sandbox_members_need_relations(uint64_t members)
{
	for (size_t i = 0; i < COUNT_OF(sandbox_shape_members); i++) {
		const char *name = json_member_name(&sandbox_shape_members[i]);

		if (members >> i & 1 &&
		    (strcmp(name, "made_from") == 0 || strcmp(name, "volumes") == 0))
			return true;
	}
	return false;
}

int sandbox_object_write(const struct api *api, struct arena *a, const struct sandbox_record *r,
                         struct buf *out, struct error *err)
{
	const struct relation_page page = {.project_id = r->project_id, .ids = ids_object(a, r, 1)};
	struct relation_list all;
	struct sandbox_answer answer;

	if (store_relations_of_page(api->store, a, &page, &all, err) < 0)
		return -1;
	fill_sandbox_answer(api, a, r, &answer);
	add_relations(a, &all, &answer);
	json_write(out, &sandbox_shape, &answer);
	return 0;
}
