/* SPDX-License-Identifier: Apache-2.0 */
/* Backups between snapshots and blobs. The bytes go through a descriptor from the provider to the
 * store; this file handles rows and progress. */
#include "fleet/backup/backup.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "fleet/backup/backups.h"
#include "fleet/core/fleet_state.h"
#include "fleet/usage/storage_limit.h"
#include "json/json.h"
#include "provider/provider.h"
#include "provider/snapshots.h"
#include "store/sandbox_record.h"

#define DOCUMENT_MAX (128 * 1024)
#define TIMEOUT_MS (30 * 60 * 1000)
/* Interval at which progress is written and a removal is noticed. */
#define PROGRESS_EVERY_MS 1000
#define PAGE_SIZE 500
/* Bytes of an upload between two checks of the project's limit. */
#define LOOK_EVERY (INT64_C(8) << 20)

const char *fleet_backup_blob(struct arena *a, const char *id)
{
	return arena_format(a, "backups/%s.tar.zst", id);
}

int backup_check(const struct fleet *f, struct error *err)
{
	if (provider_require(f->provider, PROVIDER_CAN_BACKUP, err) < 0)
		return -1;
	return f->blobs ? 0 : FAIL(err, ERROR_UNSUPPORTED, "this server has no blob store");
}

void backup_begin(const struct fleet *f, struct arena *a, struct backup_record *r)
{
	struct id id = id_new();

	r->id = id.text;
	if (!r->name)
		r->name = id.text;
	r->node = f->node;
	r->state = BACKUP_MAKING;
	r->created_at = clock_unix_ms();
	backup_record_own(a, r);
}

struct description {
	const char *id, *name, *sandbox, *sandbox_name, *parent, *template, *template_id, *provider,
	        *node;
	int64_t depth, created_at;
	struct span image;
};
static const struct json_member description_shape_members[] = {
        JSON_TEXT_MEMBER(description, id),
        JSON_TEXT_MEMBER(description, name),
        JSON_TEXT_MEMBER(description, sandbox),
        JSON_TEXT_MEMBER(description, sandbox_name),
        JSON_TEXT_MEMBER(description, parent),
        JSON_TEXT_MEMBER(description, template),
        JSON_TEXT_MEMBER(description, template_id),
        JSON_TEXT_MEMBER(description, provider),
        JSON_TEXT_MEMBER(description, node),
        JSON_WHOLE_MEMBER(description, depth),
        JSON_TIME_MEMBER(description, created_at),
        JSON_RAW_MEMBER(description, image, .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(description_shape, "BackupSnapshot", description,
                  "What a backup says of its snapshot");

/* The description of the template in a full backup (image/config.h). */
struct template_description {
	struct span env, entrypoint, ports;
	const char *user, *workdir;
};
static const struct json_member said_shape_members[] = {
        JSON_RAW_MEMBER(template_description, env),
        JSON_RAW_MEMBER(template_description, entrypoint),
        JSON_RAW_MEMBER(template_description, ports),
        JSON_TEXT_MEMBER(template_description, user),
        JSON_TEXT_MEMBER(template_description, workdir),
};
static JSON_SHAPE(said_shape, "BackupTemplate", template_description,
                  "What a full backup says of its template");

static void describe_template(const struct template_record *t, struct buf *out)
{
	const struct template_description said = {span_of(t->env_json), span_of(t->entrypoint_json),
	                                          span_of(t->ports_json), t->user, t->workdir};

	json_write(out, &said_shape, &said);
}

/* The environment of the sandbox is left out: its values may be secrets, which stay sealed on this
 * server. `t` NULL: without the template. */
static int open_document(const struct snapshot_record *s, const struct template_record *t,
                         int *ret_fd, struct error *err)
{
	AUTO(buf_done) struct buf image = BUF(DOCUMENT_MAX);
	AUTO(buf_done) struct buf text = BUF(DOCUMENT_MAX);
	AUTO_CLOSE int fd = memfd_create("backup", MFD_CLOEXEC);

	if (fd < 0)
		return FAIL_ERRNO(err, "make a file in memory");
	if (s) {
		struct description out = {s->id,           s->name,      s->sandbox_id,
		                          s->sandbox_name, s->parent_id, s->template_name,
		                          s->template_id,  s->provider,  s->node,
		                          s->depth,        s->created_at};

		if (t)
			describe_template(t, &image);
		out.image = buf_span(&image);
		json_write(&text, &description_shape, &out);
		if (fd_write_all(fd, text.data, text.size, err) < 0)
			return -1;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int read_document(struct arena *a, int fd, struct backup_found *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(DOCUMENT_MAX);
	const struct json_value *found, *manifest;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(err, "read what was found");
	if (fd_read_to_end(fd, &text, err) < 0 ||
	    json_load(a, span_of(arena_copy(a, buf_span(&text))), &found, err) < 0)
		return FAIL_CONTEXT(err, "what was found in a backup");
	manifest = json_get(found, "manifest");
	*ret = (struct backup_found){
	        .sha256 = json_text(json_get(found, "sha256"), ""),
	        .template_digest = json_text(json_get(manifest, "template_digest"), ""),
	        .size = json_whole(json_get(found, "size"), 0),
	        .entries = json_whole(json_get(found, "entries"), 0),
	        .bytes = json_whole(json_get(found, "bytes"), 0),
	        .is_full = json_bool(json_get(manifest, "full"), false),
	        .snapshot = json_get(manifest, "snapshot"),
	};
	return 0;
}

struct packing_progress {
	struct fleet *fleet;
	struct backup_record record; /* texts are the caller's */
	int64_t told_at;
	bool is_removed;
};

static void on_progress(void *context, int percent, const char *text)
{
	struct packing_progress *t = context;
	AUTO(arena_done) struct arena arena = {0};
	int64_t now = clock_monotonic_ms();
	struct error err = {0};

	if (now - t->told_at < PROGRESS_EVERY_MS)
		return;
	t->told_at = now;
	t->record.state_text = arena_format(&arena, "%d %% %s", percent, text);
	if (store_backup_update(t->fleet->store, &t->record, true, &err) < 0)
		t->is_removed = err.code == ERROR_NOT_FOUND;
}

static bool is_given_up(void *context)
{
	return ((struct packing_progress *)context)->is_removed;
}

static int run_backup(struct fleet *f, struct provider_backup *request,
                      const struct backup_record *r, struct error *err)
{
	struct packing_progress telling = {.fleet = f, .record = *r};
	struct provider_backup told = *request;
	int status;

	told.size_max = told.full ? FLEET_FULL_BACKUP_BYTES_MAX : FLEET_BACKUP_BYTES_MAX;
	told.on_progress = on_progress;
	told.is_given_up = is_given_up;
	told.context = &telling;
	status = f->ops->snapshots->backup(f->provider, &told, deadline_after(TIMEOUT_MS), err);
	*request = told;
	request->context = NULL;
	if (telling.told_at > 0 && r->state == BACKUP_READY)
		(void)!store_backup_update(f->store, r, true, &(struct error){0});
	return status < 0 && telling.is_removed
	               ? FAIL(err, ERROR_CONFLICT, "backup '%s' was removed meanwhile", r->name)
	               : status;
}

static void take_found(struct backup_record *r, const struct backup_found *found)
{
	r->sha256 = found->sha256;
	r->template_digest = found->template_digest;
	r->size_bytes = found->size;
	r->files = found->entries;
	r->files_bytes = found->bytes;
	r->is_full = found->is_full;
	r->state = BACKUP_READY;
	r->state_text = "";
}

static int fill_blob(struct fleet *f, struct arena *a, const struct snapshot_record *snapshot,
                     struct backup_record *r, int fd, struct error *err)
{
	AUTO_CLOSE int document = -1;
	struct template_record t;
	struct backup_found found;
	struct provider_backup request = {
	        .verb = PROVIDER_BACKUP_EXPORT, .snapshot = snapshot->id, .archive_fd = fd};

	if (store_template_find(f->store, a, NULL, snapshot->template_id, &t, err) < 0 ||
	    open_document(snapshot, r->is_full ? &t : NULL, &document, err) < 0)
		return -1;
	request.template_folder = t.folder;
	request.full = r->is_full;
	request.document_fd = document;
	if (run_backup(f, &request, r, err) < 0 || read_document(a, document, &found, err) < 0)
		return -1;
	take_found(r, &found);
	return 0;
}

/* Records the size, so that concurrent additions see it, then checks the limit. Files of an
 * archived sandbox were on this disk before: they are counted, but not refused. */
static int check_room(struct fleet *f, const struct backup_record *r, int64_t begun_at,
                      struct error *err)
{
	const struct storage_claim claim = {r->project_id, r->id, begun_at};
	struct backup_record growing = *r;
	int64_t room;

	if (*r->holder_id)
		return 0;
	growing.state = BACKUP_MAKING;
	if (storage_room(f, &claim, &room, err) < 0)
		return -1;
	if (room == INT64_MAX)
		return 0;
	if (store_backup_update(f->store, &growing, true, err) < 0)
		return -1;
	return storage_check(f, &claim, r->size_bytes, err);
}

static int finish_row(struct fleet *f, struct arena *a, const struct backup_record *r,
                      struct error *err)
{
	fault_point("api", "backup-stored");
	if (store_backup_update(f->store, r, false, err) == 0)
		return 0;
	(void)!blob_delete(f->blobs, fleet_backup_blob(a, r->id), &(struct error){0});
	return -1;
}

int backup_open(struct fleet *f, struct arena *a, const char *id, struct blob_writer **ret,
                struct error *err)
{
	const struct blob_put put = {.name = fleet_backup_blob(a, id), .size_max = BLOB_SIZE_MAX};

	return blob_put(f->blobs, &put, ret, err);
}

int backup_store(struct fleet *f, struct arena *a, struct backup_record *r,
                 const struct backup_source *source, struct error *err)
{
	const struct snapshot_record *snapshot = source->snapshot;
	struct blob_writer *writer = source->writer;
	struct backup_record made = *r;
	int64_t size;

	if (fill_blob(f, a, snapshot, &made, blob_writer_fd(writer), err) < 0 ||
	    check_room(f, &made, 0, err) < 0) {
		blob_abort(writer);
		return -1;
	}
	fault_point("api", "backup-packed");
	if (blob_commit(writer, &size, err) < 0)
		return -1;
	if (size != made.size_bytes)
		(void)FAIL(err, ERROR_SYSTEM, "%lld bytes were packed and %lld are stored",
		           (long long)made.size_bytes, (long long)size);
	else if (finish_row(f, a, &made, err) == 0) {
		*r = made;
		return 0;
	}
	(void)!blob_delete(f->blobs, fleet_backup_blob(a, r->id), &(struct error){0});
	return -1;
}

/* VERIFY and LOAD. */
static int read_blob(struct fleet *f, struct arena *a, struct provider_backup *request,
                     const struct backup_record *r, struct backup_found *ret, struct error *err)
{
	const struct blob_range all = {0, -1};
	AUTO_CLOSE int document = -1, archive = -1;
	int64_t size;

	if (open_document(NULL, NULL, &document, err) < 0 ||
	    blob_get(f->blobs, fleet_backup_blob(a, r->id), all, &archive, &size, err) < 0)
		return -1;
	request->document_fd = document;
	request->archive_fd = archive;
	if (run_backup(f, request, r, err) < 0)
		return -1;
	return read_document(a, document, ret, err);
}

int backup_fetch(struct fleet *f, struct arena *a, const struct backup_fetch *u, struct error *err)
{
	struct provider_backup request = {.verb = PROVIDER_BACKUP_LOAD,
	                                  .snapshot = u->snapshot_id,
	                                  .template_folder = u->folder};
	struct backup_found found;

	if (read_blob(f, a, &request, u->backup, &found, err) < 0)
		return -1;
	/* The snapshot exists now; the caller drops it. */
	if (strcmp(found.sha256, u->backup->sha256) == 0)
		return 0;
	return FAIL(err, ERROR_INVALID, "backup '%s' is not as it was stored: sha256 %.64s",
	            u->backup->name, found.sha256);
}

int backup_drop(struct fleet *f, const char *id, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};

	if (blob_delete(f->blobs, fleet_backup_blob(&arena, id), err) < 0)
		return -1;
	fault_point("api", "backup-removed");
	return store_backup_remove(f->store, id, err);
}

int fleet_upload_begin(struct fleet *fleet, struct arena *a, const char *project_id,
                       const char *name, struct fleet_upload *ret, struct error *err)
{
	struct blob_put put = {.size_max = FLEET_BACKUP_BYTES_MAX};

	if (backup_check(fleet, err) < 0 || (name && sandbox_name_check(name, err) < 0))
		return -1;
	*ret = (struct fleet_upload){
	        .fleet = fleet,
	        .fd = -1,
	        .record = {.project_id = project_id,
	                   .name = name,
	                   .state_text = "0 % receiving",
	                   .is_brought = true},
	};
	backup_begin(fleet, a, &ret->record);
	if (store_backup_insert(fleet->store, &ret->record, FLEET_BACKUPS_MAX, err) < 0)
		return -1;
	put.name = fleet_backup_blob(a, ret->record.id);
	if (check_room(fleet, &ret->record, ret->record.created_at, err) < 0 ||
	    blob_put(fleet->blobs, &put, &ret->writer, err) < 0) {
		fleet_upload_abort(ret);
		return -1;
	}
	ret->fd = blob_writer_fd(ret->writer);
	return 0;
}

int fleet_upload_add(struct fleet_upload *upload, int64_t size, struct error *err)
{
	upload->size += size;
	if (upload->size > FLEET_BACKUP_BYTES_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "a backup has at most %lld MiB",
		            (long long)(FLEET_BACKUP_BYTES_MAX >> 20));
	if (upload->size - upload->told < LOOK_EVERY)
		return 0;
	upload->told = upload->size;
	upload->record.size_bytes = upload->size;
	return check_room(upload->fleet, &upload->record, upload->record.created_at, err);
}

void fleet_upload_abort(struct fleet_upload *upload)
{
	struct error err = {0};

	if (!upload->fleet)
		return;
	blob_abort(upload->writer);
	upload->writer = NULL;
	if (backup_drop(upload->fleet, upload->record.id, &err) < 0)
		log_warning("half a backup is left", TEXT("backup", upload->record.id),
		            FAILURE(&err));
	upload->fleet = NULL;
}

/* A text of an untrusted manifest: shown, never trusted. */
static const char *shown_text(struct arena *a, const struct json_value *snapshot,
                              const char *member)
{
	const char *text = json_text(json_get(snapshot, member), "");

	return arena_format(a, "%.64s", text);
}

static int verify_upload(struct fleet_upload *upload, struct arena *a, struct backup_record *r,
                         struct error *err)
{
	struct provider_backup request = {
	        .verb = PROVIDER_BACKUP_VERIFY, .snapshot = "", .template_folder = ""};
	struct backup_found found;

	if (read_blob(upload->fleet, a, &request, r, &found, err) < 0)
		return -1;
	if (upload->sha256 && strcmp(upload->sha256, found.sha256) != 0)
		return FAIL(err, ERROR_INVALID, "what came has sha256 %s, not %.64s", found.sha256,
		            upload->sha256);
	r->snapshot_id = shown_text(a, found.snapshot, "id");
	r->snapshot_name = shown_text(a, found.snapshot, "name");
	r->template_id = shown_text(a, found.snapshot, "template_id");
	r->template_name = shown_text(a, found.snapshot, "template");
	take_found(r, &found);
	return 0;
}

int fleet_upload_end(struct fleet_upload *upload, struct arena *a, struct backup_record *ret,
                     struct error *err)
{
	struct fleet *f = upload->fleet;
	struct backup_record r = upload->record;
	struct blob_writer *writer = TAKE(upload->writer);
	int status;
	int64_t size;

	upload->fd = -1;
	status = blob_commit(writer, &size, err);
	if (status == 0)
		status = verify_upload(upload, a, &r, err);
	if (status == 0)
		status = check_room(f, &r, 0, err);
	if (status == 0)
		status = finish_row(f, a, &r, err);
	if (status < 0) {
		fleet_upload_abort(upload);
		return -1;
	}
	upload->fleet = NULL;
	*ret = r;
	return 0;
}

/* Whether the archive of a sandbox is still needed. At boot, after all sandboxes are reconciled. */
static bool is_archive_needed(struct fleet *f, const char *project_id, const char *sandbox_id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct sandbox_record r;
	struct error err = {0};

	if (store_sandbox_find_ended(f->store, &arena, project_id, sandbox_id, &r, &err) < 0) {
		/* These may be the only files of the sandbox: they stay unless a row says
		 * "deleted". */
		log_warning("an archive is left: no row of the store knows its sandbox",
		            TEXT("sandbox", sandbox_id), FAILURE(&err));
		return true;
	}
	return r.actual == SANDBOX_ARCHIVED || r.actual == SANDBOX_CREATING ||
	       r.actual == SANDBOX_FAILED;
}

static int reconcile_backup(struct fleet *f, struct backup_record *r, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};

	if (r->state == BACKUP_READY && *r->holder_id &&
	    !is_archive_needed(f, r->project_id, r->holder_id))
		return backup_drop(f, r->id, err);
	/* An interrupted upload is removed, so that the client can upload it again under the same
	 * name. */
	if (r->state == BACKUP_REMOVING ||
	    (r->state == BACKUP_MAKING && (*r->holder_id || r->is_brought)))
		return backup_drop(f, r->id, err);
	if (r->state != BACKUP_MAKING)
		return 0;
	if (blob_delete(f->blobs, fleet_backup_blob(&arena, r->id), err) < 0)
		return -1;
	r->state = BACKUP_FAILED;
	r->state_text = "interrupted: the server went away";
	return store_backup_update(f->store, r, false, err);
}

int backups_reconcile(struct fleet *f, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct backup_filter filter = {.limit = PAGE_SIZE, .node = f->node};
	struct error problem = {0};
	struct backup_list list;

	if (!f->blobs)
		return 0;
	do {
		if (store_backup_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count; i++)
			if (reconcile_backup(f, &list.items[i], &problem) < 0)
				log_warning("a backup is not settled",
				            TEXT("backup", list.items[i].id), FAILURE(&problem));
		filter.page = list.next_page;
	} while (filter.page);
	return 0;
}
