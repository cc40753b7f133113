/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/recovery/notes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/template_cache.h"
#include "fleet/recovery/pairing_state.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/entries.h"
#include "provider/set.h"
#include "provider/trash.h"
#include "sandbox/timeouts.h"
#include "store/sandboxes.h"
#include "store/secrets.h"
#include "store/snapshots.h"

#define REMEMBERED_MAX 100000 /* then all are written again */
#define FORMAT 1
#define TIMEOUT_LEAST_MS (3600 * INT64_C(1000))
#define NEXT ".next"
#define YOUNG_S 3600

void note_add_text(struct buf *out, const char *name, const char *value)
{
	json_add_text(out, name, value ? value : "");
}

void note_begin(struct buf *out)
{
	json_begin_object(out, NULL);
	json_add_whole(out, "format", FORMAT);
}

static void write_note(struct buf *out, const struct sandbox_record *r, const char *folder)
{
	note_begin(out);
	note_add_text(out, "id", r->id);
	note_add_text(out, "name", r->name);
	note_add_text(out, "project_id", r->project_id);
	note_add_text(out, "template_id", r->template_id);
	note_add_text(out, "template", r->template_name);
	note_add_text(out, "template_folder", folder);
	note_add_text(out, "provider", r->provider);
	note_add_text(out, "region", r->region);
	note_add_text(out, "labels", r->labels_json);
	note_add_text(out, "network_told", r->network_json);
	note_add_text(out, "egress", r->egress);
	note_add_text(out, "rules", r->rules_json);
	note_add_text(out, "env", r->env_json);
	note_add_text(out, "key_id", r->key_id);
	note_add_text(out, "user_id", r->user_id);
	json_add_number(out, "cpu", r->resources.cpu);
	json_add_whole(out, "memory_mb", r->resources.memory_mb);
	json_add_whole(out, "disk_mb", r->resources.disk_mb);
	json_add_whole(out, "pids", r->resources.pids);
	json_add_whole(out, "network", r->network);
	json_add_whole(out, "persistent", r->persistent);
	json_add_whole(out, "privileges", r->privileges);
	json_add_whole(out, "traits", r->traits);
	json_add_whole(out, "timeout_at", r->timeout_at);
	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++)
		json_add_whole(out, sandbox_timeout_name(i), sandbox_timeout_get(&r->timeouts, i));
	json_add_whole(out, "preview_off", r->preview_off);
	json_add_whole(out, "preview_public", r->preview_public);
	json_add_whole(out, "preview_generation", r->preview_generation);
	json_add_whole(out, "created_at", r->created_at);
	buf_add_text(out, "}\n");
}

/* Not synced: after a crash of the machine the rows still exist. */
static int replace_file(int folder, const char *id, const struct buf *text, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	char next[NOTE_NAME_SIZE + 8];

	(void)snprintf(next, sizeof(next), "%s" NEXT, id);
	fd = openat(folder, next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "make '%s'", next);
	if (fd_write_all(fd, text->data, text->size, err) < 0)
		return -1;
	return renameat(folder, next, folder, id) < 0 ? FAIL_ERRNO(err, "name '%s'", id) : 0;
}

const char *note_template_folder(struct fleet *f, struct arena *a, const char *project_id,
                                 const char *template_id)
{
	const struct fleet_ref ref = {project_id, template_id};
	struct template_record t;

	return template_find(f, a, &ref, &t, &(struct error){0}) < 0 ? "" : t.folder;
}

int note_write(const struct fleet *f, const char *name, const struct buf *text, struct error *err)
{
	AUTO_CLOSE int folder = pairing_open_folder(f, err);

	if (folder < 0)
		return -1;
	if (text->overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "its row has more than %d bytes", NOTE_MAX);
	return replace_file(folder, name, text, err);
}

static int keep_note(struct fleet *f, const struct sandbox_record *r, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);
	struct sandbox_record sealed = *r;

	sealed.env_json = store_sandbox_env_close(f->store, &arena, r->id, r->env_json);
	write_note(&text, &sealed, note_template_folder(f, &arena, r->project_id, r->template_id));
	return note_write(f, r->id, &text, err);
}

void note_row(struct fleet *f, const struct sandbox_record *r)
{
	void *version = (void *)(uintptr_t)(r->version + 1);
	struct error err = {0};

	if (!f->pairing->is_open || map_find(&f->pairing->noted, r->id) == version)
		return;
	if (f->pairing->noted.count >= REMEMBERED_MAX)
		map_done(&f->pairing->noted);
	if (keep_note(f, r, &err) < 0)
		log_warning("a recovery would not know this sandbox", TEXT("sandbox", r->id),
		            FAILURE(&err));
	else
		(void)map_put(&f->pairing->noted, r->id, version);
}

/* A value that a map can hold: never NULL. */
static void *hash_text(const char *text)
{
	return (void *)(uintptr_t)(map_hash(text) | 1);
}

void note_keep(struct fleet *f, const char *name, struct buf *text)
{
	void *hash = hash_text(buf_text(text));
	struct error err = {0};

	if (!f->pairing->is_open || map_find(&f->pairing->noted, name) == hash)
		return;
	if (note_write(f, name, text, &err) < 0)
		log_warning("a recovery would not know this", TEXT("note", name), FAILURE(&err));
	else
		(void)map_put(&f->pairing->noted, name, hash);
}

/* Sealed texts in notes are sealed again as soon as rows are, so that old keys can be dropped. */
void notes_check_keys(struct fleet *f)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *prefix = store_secret_prefix(f->store, &arena);
	void *hash = hash_text(prefix);

	if (f->pairing->noted_key && f->pairing->noted_key != hash)
		map_done(&f->pairing->noted);
	f->pairing->noted_key = hash;
}

void note_drop(struct fleet *f, const char *id)
{
	AUTO_CLOSE int folder =
	        f->pairing->is_open ? pairing_open_folder(f, &(struct error){0}) : -1;

	if (folder >= 0)
		(void)unlinkat(folder, id, 0);
}

/* The trash deletes expired entries without a report. */
static bool is_needed(struct fleet *f, const struct map *known, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;
	struct error err = {0};

	return map_find(known, id) ||
	       store_sandbox_find_ended(f->store, &arena, NULL, id, &r, &err) == 0 ||
	       err.code != ERROR_NOT_FOUND;
}

/* Calls write notes during the sweep, and a delete moves files while it lists them. */
static bool is_old(int folder, const char *name)
{
	struct stat status;

	return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (int64_t)status.st_mtime < clock_unix_ms() / 1000 - YOUNG_S;
}

/* False: the name is no sandbox's note. */
static bool may_go(struct fleet *f, const struct map *known, int folder, const char *name)
{
	static const char kept[] = NOTE_KEPT "-";
	size_t size = strlen(name);

	/* A file that was being written when the process was killed. This thread writes those of
	 * sandboxes. */
	if (size > strlen(NEXT) && strcmp(name + size - strlen(NEXT), NEXT) == 0)
		return size == ID_SIZE + strlen(NEXT) || is_old(folder, name);
	if (strncmp(name, kept, sizeof(kept) - 1) == 0)
		return id_is_valid(name + sizeof(kept) - 1) &&
		       !map_find(known, name + sizeof(kept) - 1) && is_old(folder, name);
	return id_is_valid(name) && !is_needed(f, known, name);
}

static void sweep_folder(struct fleet *f, const struct map *known, DIR *folder)
{
	struct dirent *entry;
	unsigned count = 0;

	while ((entry = readdir(folder))) {
		if (!may_go(f, known, dirfd(folder), entry->d_name))
			continue;
		if (unlinkat(dirfd(folder), entry->d_name, 0) == 0)
			count++;
	}
	if (count > 0)
		log_info("notes of sandboxes that are gone were removed", NUMBER("count", count));
}

static int list_folder(const struct fleet *f, DIR **ret, struct error *err)
{
	AUTO_CLOSE int place = pairing_open_folder(f, err), fd = -1;

	if (place < 0)
		return -1;
	fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret = fd < 0 ? NULL : fdopendir(fd);
	if (!*ret)
		return FAIL_ERRNO(err, "list the notes");
	(void)TAKE_FD(fd); /* the list has it */
	return 0;
}

void notes_sweep(struct fleet *f, const struct provider_trash_list *trash)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(map_done) struct map known = {0};
	struct error err = {0};
	bool is_silent[PROVIDER_MEMBERS_MAX];
	struct provider_list list;
	DIR *folder;

	if (!f->pairing->is_open || !pairing_holds(f))
		return;
	if (provider_set_list(f->providers, &arena, &list, is_silent, &err) < 0 ||
	    list_folder(f, &folder, &err) < 0) {
		log_warning("notes of sandboxes that are gone stay", FAILURE(&err));
		return;
	}
	for (unsigned i = 0; i < provider_set_count(f->providers); i++)
		if (is_silent[i]) {
			(void)closedir(folder);
			return;
		}
	for (size_t i = 0; i < list.count; i++)
		(void)map_put(&known, list.entries[i].id, &known);
	for (size_t i = 0; i < trash->count; i++)
		(void)map_put(&known, trash->items[i].id, &known);
	sweep_folder(f, &known, folder);
	(void)closedir(folder);
}

int note_read(struct fleet *f, struct arena *a, const char *id, const struct json_value **ret,
              struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(NOTE_MAX);
	AUTO_CLOSE int folder = pairing_open_folder(f, err);

	if (folder < 0 || file_read(folder, id, &text, err) < 0)
		return -1;
	if (json_load(a, span_of(arena_text(a, buf_text(&text))), ret, err) < 0)
		return -1;
	if (json_whole(json_get(*ret, "format"), 0) != FORMAT)
		return FAIL(err, ERROR_INVALID, "what is noted of '%s' has another format", id);
	return 0;
}

const char *note_text(const struct json_value *note, const char *name)
{
	return json_text(json_get(note, name), "");
}

int64_t note_whole(const struct json_value *note, const char *name)
{
	return json_whole(json_get(note, name), 0);
}

struct sandbox_timeouts note_timeouts(const struct json_value *note)
{
	struct sandbox_timeouts timeouts = {0};

	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++)
		sandbox_timeout_set(&timeouts, i, note_whole(note, sandbox_timeout_name(i)));
	return timeouts;
}

/* An expired timeout is postponed, so that the operator can look at the sandbox. */
static int64_t noted_timeout(const struct json_value *note)
{
	int64_t at = note_whole(note, "timeout_at"), soonest = clock_unix_ms() + TIMEOUT_LEAST_MS;

	return at == 0 || at > soonest ? at : soonest;
}

static struct sandbox_record record_of(const struct json_value *note, const char *id)
{
	return (struct sandbox_record){
	        .id = id,
	        .name = note_text(note, "name"),
	        .project_id = note_text(note, "project_id"),
	        .template_id = note_text(note, "template_id"),
	        .template_name = note_text(note, "template"),
	        .region = note_text(note, "region"),
	        .labels_json = note_text(note, "labels"),
	        .network_json = note_text(note, "network_told"),
	        .egress = note_text(note, "egress"),
	        .rules_json = note_text(note, "rules"),
	        .env_json = note_text(note, "env"),
	        .key_id = note_text(note, "key_id"),
	        .user_id = note_text(note, "user_id"),
	        .resources = {.cpu = json_number(json_get(note, "cpu"), 0),
	                      .memory_mb = note_whole(note, "memory_mb"),
	                      .disk_mb = note_whole(note, "disk_mb"),
	                      .pids = note_whole(note, "pids")},
	        .network = (enum sandbox_network)note_whole(note, "network"),
	        .persistent = note_whole(note, "persistent") != 0,
	        .privileges = note_whole(note, "privileges") != 0,
	        .traits = note_whole(note, "traits"),
	        .timeout_at = noted_timeout(note),
	        .preview_off = note_whole(note, "preview_off") != 0,
	        .preview_public = note_whole(note, "preview_public") != 0,
	        .preview_generation = note_whole(note, "preview_generation"),
	        .timeouts = note_timeouts(note),
	        .created_at = note_whole(note, "created_at"),
	};
}

/* No note: default settings and timeouts, and no network. */
static struct sandbox_record guess_record(const struct fleet *f, struct arena *a, const char *id)
{
	return (struct sandbox_record){
	        .id = id,
	        .name = arena_format(a, "recovered-%.8s", id),
	        .project_id = "default",
	        .template_id = "",
	        .template_name = f->config->default_template,
	        .region = f->config->region,
	        .resources = f->config->defaults,
	        .network = SANDBOX_NETWORK_BLOCKED,
	        .persistent = true,
	        .timeouts = f->config->timeouts,
	        .created_at = clock_unix_ms(),
	};
}

static int insert_row(struct fleet *f, struct arena *a, struct sandbox_record *r, struct error *err)
{
	if (store_sandbox_insert(f->store, r, 0, err) == 0)
		return 0;
	if (err->code != ERROR_CONFLICT)
		return -1;
	error_clear(err);
	r->name = arena_format(a, "%.40s-%.8s", r->name, r->id);
	return store_sandbox_insert(f->store, r, 0, err);
}

static int ensure_owners(struct fleet *f, struct arena *a, const struct json_value *note,
                         struct sandbox_record *r, struct error *err)
{
	struct note_template t = {.project_id = r->project_id,
	                          .folder = note ? note_text(note, "template_folder") : "",
	                          .id = r->template_id,
	                          .name = r->template_name};

	if (note_ensure_project(f, a, r->project_id, err) < 0 ||
	    note_ensure_template(f, a, &t, err) < 0)
		return -1;
	r->template_id = t.id;
	r->template_name = t.name;
	return 0;
}

/* A text that this server cannot unseal is in the row nevertheless: calls report it. */
static void log_row(struct fleet *f, struct arena *a, const struct sandbox_record *r)
{
	struct sandbox_record made;
	struct error err = {0};
	const char *env = "restored";

	if (!r->env_json || !*r->env_json)
		env = "not noted";
	else if (store_sandbox_find(f->store, a, NULL, r->id, &made, &err) < 0 ||
	         store_secret_check(made.env_json, &err) < 0)
		env = "sealed with a key that is not in keys/secret.key";
	log_warning("the row of a sandbox was made again, without its history",
	            TEXT("sandbox", r->id), TEXT("name", r->name), TEXT("project", r->project_id),
	            TEXT("state", sandbox_state_name(r->actual)), TEXT("environment", env));
}

int note_make_row(struct fleet *f, const char *id, enum sandbox_state state,
                  struct notes_made *made, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *note = NULL;
	int64_t now = clock_unix_ms();
	struct sandbox_record r;
	struct error why = {0};

	if (note_read(f, &arena, id, &note, &why) == 0) {
		r = record_of(note, id);
	} else {
		log_warning(
		        "nothing is noted of a sandbox: its name, project, template and network "
		        "are guessed",
		        TEXT("sandbox", id), FAILURE(&why));
		note = NULL;
		r = guess_record(f, &arena, id);
	}
	r.provider = f->primary;
	r.node = f->node;
	r.desired = r.actual = state;
	r.last_event = "its row was made again from the data folder";
	r.started_at = r.last_activity_at = r.last_event_at = now;
	if (ensure_owners(f, &arena, note, &r, err) < 0 || insert_row(f, &arena, &r, err) < 0)
		return FAIL_CONTEXT(err, "recover sandbox '%s'", id);
	log_row(f, &arena, &r);
	made->sandboxes++;
	note_make_lease(f, &r, made);
	return 0;
}
