/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of projects and templates, which rows of sandboxes, volumes and snapshots need. */
#include <stdio.h>
#include <string.h>

#include "fleet/core/fleet_state.h"
#include "fleet/recovery/notes.h"
#include "fleet/recovery/pairing_state.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/provider.h"
#include "sandbox/timeouts.h"
#include "store/projects.h"
#include "store/secrets.h"
#include "store/templates.h"

#define PAGE 500

static void add_resources(struct buf *out, const char *prefix, const struct sandbox_resources *r)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%scpu", prefix);
	json_add_number(out, name, r->cpu);
	(void)snprintf(name, sizeof(name), "%smemory_mb", prefix);
	json_add_whole(out, name, r->memory_mb);
	(void)snprintf(name, sizeof(name), "%sdisk_mb", prefix);
	json_add_whole(out, name, r->disk_mb);
	(void)snprintf(name, sizeof(name), "%spids", prefix);
	json_add_whole(out, name, r->pids);
}

static void add_timeouts(struct buf *out, const struct sandbox_timeouts *timeouts)
{
	for (unsigned i = 0; i < SANDBOX_TIMEOUTS_INHERITED; i++)
		json_add_whole(out, sandbox_timeout_name(i), sandbox_timeout_get(timeouts, i));
}

static void note_project(struct fleet *f, struct arena *a, const struct project_record *r)
{
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);

	note_begin(&text);
	note_add_text(&text, "id", r->id);
	note_add_text(&text, "name", r->name);
	note_add_text(&text, "provider", r->provider);
	note_add_text(&text, "isolation", r->isolation);
	add_resources(&text, "", &r->defaults);
	add_resources(&text, "max_", &r->maximums);
	add_timeouts(&text, &r->timeouts);
	json_add_whole(&text, "sandboxes_max", r->sandboxes_max);
	json_add_whole(&text, "terminal_ttl_ms", r->terminal_ttl_ms);
	json_add_whole(&text, "artifacts_max_mb", r->artifacts_max_mb);
	json_add_whole(&text, "artifacts_keep_ms", r->artifacts_keep_ms);
	json_add_whole(&text, "storage_max_mb", r->storage_max_mb);
	json_add_whole(&text, "record_terminals", r->record_terminals);
	json_add_whole(&text, "created_at", r->created_at);
	buf_add_text(&text, "}\n");
	note_keep(f, arena_format(a, NOTE_PROJECT "-%s", r->id), &text);
}

static void note_template(struct fleet *f, struct arena *a, const struct template_record *r)
{
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);

	/* Default templates are added again by the program. */
	if (r->state != TEMPLATE_READY || !*r->project_id)
		return;
	note_begin(&text);
	note_add_text(&text, "id", r->id);
	note_add_text(&text, "base_image", r->base_image);
	note_add_text(&text, "runtime", r->runtime);
	note_add_text(&text, "isolation", r->isolation);
	note_add_text(&text, "provider", r->provider);
	note_add_text(&text, "description", r->description);
	note_add_text(&text, "env", store_template_env_close(f->store, a, r->id, r->env_json));
	note_add_text(&text, "entrypoint", r->entrypoint_json);
	note_add_text(&text, "ports", r->ports_json);
	note_add_text(&text, "user", r->user);
	note_add_text(&text, "workdir", r->workdir);
	note_add_text(&text, "warm", r->warm_json);
	note_add_text(&text, "snapshot_id", r->snapshot_id);
	note_add_text(&text, "ready", r->ready);
	add_resources(&text, "", &r->resources);
	add_timeouts(&text, &r->timeouts);
	json_add_whole(&text, "size_bytes", r->size_bytes);
	json_add_whole(&text, "pool_min", r->pool_min);
	json_add_whole(&text, "pool_target", r->pool_target);
	json_add_whole(&text, "pool_max", r->pool_max);
	json_add_whole(&text, "created_at", r->created_at);
	buf_add_text(&text, "}\n");
	note_keep(f, arena_format(a, NOTE_TEMPLATE "-%s", r->id), &text);
}

static int note_projects(struct fleet *f, struct error *err)
{
	char after[256] = "";
	size_t count;

	do {
		AUTO(arena_done) struct arena arena = {0};
		const struct project_page page = {after, PAGE};
		struct project_list list;

		if (store_project_list(f->store, &arena, &page, &list, err) < 0)
			return -1;
		count = list.count;
		for (size_t i = 0; i < count; i++)
			note_project(f, &arena, &list.items[i]);
		if (count > 0)
			(void)snprintf(after, sizeof(after), "%s", list.items[count - 1].name);
	} while (count == PAGE);
	return 0;
}

void notes_of_owners(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	struct template_list templates;
	struct error err = {0};

	if (!f->pairing->is_open)
		return;
	if (store_template_list(f->store, &arena, NULL, &templates, &err) < 0 ||
	    note_projects(f, &err) < 0) {
		log_warning("a recovery would not know new settings of projects and templates",
		            FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < templates.count; i++)
		note_template(f, &arena, &templates.items[i]);
}

static struct sandbox_resources read_resources(struct arena *a, const struct json_value *note,
                                               const char *prefix)
{
	return (struct sandbox_resources){
	        .cpu = json_number(json_get(note, arena_format(a, "%scpu", prefix)), 0),
	        .memory_mb = note_whole(note, arena_format(a, "%smemory_mb", prefix)),
	        .disk_mb = note_whole(note, arena_format(a, "%sdisk_mb", prefix)),
	        .pids = note_whole(note, arena_format(a, "%spids", prefix))};
}

static const struct json_value *read_owner(struct fleet *f, struct arena *a, const char *kind,
                                           const char *id)
{
	const struct json_value *note;
	struct error err = {0};

	if (note_read(f, a, arena_format(a, "%s-%s", kind, id), &note, &err) == 0)
		return note;
	log_warning("its settings are not noted: it is made again without", TEXT("kind", kind),
	            TEXT("id", id), FAILURE(&err));
	return NULL;
}

static struct project_record project_of(struct arena *a, const struct json_value *note,
                                        const char *id)
{
	if (!note)
		return (struct project_record){.id = id, .name = id, .created_at = clock_unix_ms()};
	return (struct project_record){.id = id,
	                               .name = note_text(note, "name"),
	                               .provider = note_text(note, "provider"),
	                               .isolation = note_text(note, "isolation"),
	                               .defaults = read_resources(a, note, ""),
	                               .maximums = read_resources(a, note, "max_"),
	                               .timeouts = note_timeouts(note),
	                               .sandboxes_max = note_whole(note, "sandboxes_max"),
	                               .terminal_ttl_ms = note_whole(note, "terminal_ttl_ms"),
	                               .artifacts_max_mb = note_whole(note, "artifacts_max_mb"),
	                               .artifacts_keep_ms = note_whole(note, "artifacts_keep_ms"),
	                               .storage_max_mb = note_whole(note, "storage_max_mb"),
	                               .record_terminals =
	                                       note_whole(note, "record_terminals") != 0,
	                               .created_at = note_whole(note, "created_at")};
}

static bool has_resources(const struct sandbox_resources *r)
{
	return r->cpu > 0 || r->memory_mb || r->disk_mb || r->pids;
}

static bool has_timeouts(const struct sandbox_timeouts *timeouts)
{
	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++)
		if (sandbox_timeout_get(timeouts, i))
			return true;
	return false;
}

static bool has_settings(const struct project_record *r)
{
	return has_resources(&r->defaults) || has_resources(&r->maximums) ||
	       has_timeouts(&r->timeouts) || r->sandboxes_max || r->terminal_ttl_ms ||
	       r->artifacts_max_mb || r->artifacts_keep_ms || r->storage_max_mb ||
	       r->record_terminals;
}

static int set_settings(struct project_record *r, const void *context, struct error *err UNUSED)
{
	struct project_record noted = *(const struct project_record *)context;

	if (has_settings(r))
		return 0;
	noted.id = r->id;
	noted.name = r->name;
	noted.closing = r->closing;
	noted.created_at = r->created_at;
	noted.version = r->version;
	*r = noted;
	return 0;
}

/* A new store has the project "default" without settings. Existing settings stay: the store may
 * belong to another server, whose operator has set them. */
static int complete_project(struct fleet *f, struct arena *a, const struct project_record *found,
                            struct error *err)
{
	const struct json_value *note;
	struct project_record noted, changed;

	if (has_settings(found) || note_read(f, a, arena_format(a, NOTE_PROJECT "-%s", found->id),
	                                     &note, &(struct error){0}) < 0)
		return 0;
	noted = project_of(a, note, found->id);
	return store_project_edit(f->store, a,
	                          &(struct project_edit){found->id, set_settings, &noted}, &changed,
	                          err);
}

static int insert_project(struct fleet *f, struct arena *a, struct project_record *r,
                          struct error *err)
{
	if (store_project_insert(f->store, r, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT || strcmp(r->name, r->id) == 0)
		return -1;
	error_clear(err);
	r->name = arena_text(a, r->id); /* another one has the name */
	return store_project_insert(f->store, r, err);
}

int note_ensure_project(struct fleet *f, struct arena *a, const char *id, struct error *err)
{
	const struct json_value *note;
	struct project_record found;

	if (store_project_find(f->store, a, id, &found, err) == 0)
		return complete_project(f, a, &found, err);
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	note = read_owner(f, a, NOTE_PROJECT, id);
	found = project_of(a, note, id);
	log_warning("a project is made again", TEXT("project", id), TEXT("name", found.name),
	            TEXT("settings", note ? "restored" : "not noted"));
	return insert_project(f, a, &found, err);
}

static void read_settings(struct arena *a, const struct json_value *note, struct template_record *t)
{
	t->base_image = note_text(note, "base_image");
	t->runtime = note_text(note, "runtime");
	t->isolation = note_text(note, "isolation");
	t->provider = note_text(note, "provider");
	t->description = note_text(note, "description");
	t->env_json = note_text(note, "env");
	t->entrypoint_json = note_text(note, "entrypoint");
	t->ports_json = note_text(note, "ports");
	t->user = note_text(note, "user");
	t->workdir = note_text(note, "workdir");
	t->warm_json = note_text(note, "warm");
	t->ready = note_text(note, "ready");
	t->resources = read_resources(a, note, "");
	t->timeouts = note_timeouts(note);
	t->size_bytes = note_whole(note, "size_bytes");
	t->pool_min = note_whole(note, "pool_min");
	t->pool_target = note_whole(note, "pool_target");
	t->pool_max = note_whole(note, "pool_max");
	t->created_at = note_whole(note, "created_at");
	/* Layers of builds are not recovered: without one, sandboxes would lack most files. */
	if (*note_text(note, "snapshot_id")) {
		t->state = TEMPLATE_FAILED;
		t->state_text = "its layer was lost with the store: build it again";
	}
}

/* By id, else by name, else a row for its folder. */
int note_ensure_template(struct fleet *f, struct arena *a, struct note_template *t,
                         struct error *err)
{
	int64_t now = clock_unix_ms();
	struct template_record made = {.id = t->id,
	                               .project_id = t->project_id,
	                               .name = t->name,
	                               .folder = t->folder,
	                               .state = TEMPLATE_READY,
	                               .created_at = now,
	                               .updated_at = now};
	const struct json_value *note;
	struct template_record found;

	if ((*t->id && store_template_find(f->store, a, t->project_id, t->id, &found, err) == 0) ||
	    store_template_find(f->store, a, t->project_id, t->name, &found, err) == 0) {
		error_clear(err);
		t->id = found.id;
		t->name = found.name;
		return 0;
	}
	if (err->code != ERROR_NOT_FOUND || !*t->folder || !id_is_valid(t->id))
		return FAIL_CONTEXT(err, "template '%s'", t->name);
	error_clear(err);
	note = read_owner(f, a, NOTE_TEMPLATE, t->id);
	if (note)
		read_settings(a, note, &made);
	log_warning("a template is made again", TEXT("template", t->name),
	            TEXT("settings", note ? "restored" : "not noted"),
	            TEXT("state_text", made.state_text ? made.state_text : ""));
	return store_template_insert(f->store, &made, err);
}
