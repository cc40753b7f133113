/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "cli/core/text_out.h"
#include "json/write.h"
#include "server_backup/manifest.h"
#include "server_backup/run.h"

#define TELL_EVERY_MS 200
#define RESULT_MAX ((size_t)1 << 20)

/* Made again by the server, or of no use without its processes. The rest of DATA's folders and
 * files is added as it is. */
static const char *const left_out_names[] = {"cells", "host-files", "log",  "reserve",
                                             "run",   "tmp",        "trash"};
/* Added by functions of their own. */
static const char *const own_names[] = {"sandboxes", "snapshots", "store", "volumes"};

static bool is_named(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static void on_left_out(void *context, const char *path, const char *why)
{
	struct backup_run *b = context;

	b->left_out_count++;
	if (b->left_out_named == LEFT_OUT_NAMED_MAX)
		return;
	b->left_out = arena_grow(b->arena, b->left_out, b->left_out_named, &b->left_out_capacity,
	                         sizeof(*b->left_out));
	b->left_out[b->left_out_named++] =
	        (struct backup_note){arena_text(b->arena, path), arena_text(b->arena, why)};
}

void backup_note_changed(struct backup_run *b, const char *path, const char *why)
{
	b->changed = arena_grow(b->arena, b->changed, b->changed_count, &b->changed_capacity,
	                        sizeof(*b->changed));
	b->changed[b->changed_count++] = (struct backup_note){path, why};
}

void backup_pause(struct backup_run *b, const struct backed_sandbox *s, const char *path,
                  bool *ret_paused)
{
	struct error err = {0};

	*ret_paused = false;
	if (server_calls_pause(&b->calls, s, ret_paused, &err) < 0)
		backup_note_changed(b, path, arena_text(b->arena, err.text));
}

static void clear_line(const struct backup_run *b)
{
	if (b->told_ms > 0)
		(void)fputs("\r\033[K", stderr);
}

static int on_progress(void *context, const struct server_contents *sums, struct error *err)
{
	struct backup_run *b = context;
	int64_t now = clock_monotonic_ms();
	AUTO(arena_done) struct arena scratch = {0};

	if (isatty(STDERR_FILENO) && now - b->told_ms >= TELL_EVERY_MS) {
		b->told_ms = now;
		(void)fprintf(stderr, "\r\033[K%s, %" PRId64 " files, %s", b->now, sums->entries,
		              text_out_bytes(&scratch, (double)sums->bytes));
	}
	return backup_output_check_space(&b->output, err);
}

int backup_add_tree(struct backup_run *b, const char *path, struct server_tree *how,
                    struct error *err)
{
	how->folder = b->data;
	how->name = path;
	how->path = arena_format(b->arena, SERVER_ROOT "/%s", path);
	return server_writer_add(b->writer, how, err);
}

static bool is_partial_template(const char *path)
{
	size_t size = strlen(path);

	return path[0] == '.' && size > strlen(".partial") && !strchr(path, '/') &&
	       strcmp(path + size - strlen(".partial"), ".partial") == 0;
}

static bool is_pairing_file(const char *path)
{
	return strcmp(path, "store") == 0;
}

/* All that has no rule of its own: keys, templates, blobs, certificates, notes, configuration. */
static int add_plain(struct backup_run *b, struct error *err)
{
	AUTO_CLOSE int again = openat(b->data, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(folder_list_done) DIR *list = again < 0 ? NULL : folder_list(again);
	struct server_tree top = {
	        .folder = b->data, .name = ".", .path = SERVER_ROOT, .without_contents = true};
	const struct dirent *entry;

	if (!list)
		return FAIL_ERRNO(err, "list the data folder");
	if (server_writer_add(b->writer, &top, err) < 0)
		return -1;
	while ((entry = readdir(list))) {
		const char *name = arena_text(b->arena, entry->d_name);
		struct server_tree tree = {0};

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    is_named(name, left_out_names, COUNT_OF(left_out_names)) ||
		    is_named(name, own_names, COUNT_OF(own_names)))
			continue;
		b->now = name;
		if (strcmp(name, "templates") == 0)
			tree.is_left_out = is_partial_template;
		if (strcmp(name, "pairing") == 0)
			tree.is_left_out = is_pairing_file;
		if (backup_add_tree(b, name, &tree, err) < 0)
			return -1;
	}
	return 0;
}

static int add_database(struct backup_run *b, struct error *err)
{
	struct server_tree store = {.without_contents = true};
	struct server_tree file = {.folder = b->data,
	                           .name = "run/" BACKUP_DATABASE,
	                           .path = SERVER_ROOT "/store/atoll.db"};
	struct server_tree pairing = {.folder = b->data,
	                              .name = "run/" BACKUP_PAIRING,
	                              .path = SERVER_ROOT "/pairing/store"};

	b->now = "database";
	if (backup_add_tree(b, "store", &store, err) < 0 ||
	    server_writer_add(b->writer, &file, err) < 0 ||
	    server_writer_add(b->writer, &pairing, err) < 0)
		return -1;
	return file.is_gone || pairing.is_gone
	               ? FAIL(err, ERROR_SYSTEM, "the copy of the database is gone")
	               : 0;
}

static const struct backed_sandbox *find_sandbox(const struct backup_run *b, const char *id)
{
	for (size_t i = 0; i < b->sandbox_count; i++) {
		if (strcmp(b->sandboxes[i].who.id, id) == 0)
			return &b->sandboxes[i].who;
	}
	return NULL;
}

/* Resumes what was paused; a sandbox that ran meanwhile may have written. */
static int resume_holders(struct backup_run *b, const struct mount_list *mounts, const bool *paused,
                          const char *path, struct error *err)
{
	int result = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		bool kept;

		if (!paused[i])
			continue;
		if (server_calls_resume(&b->calls, find_sandbox(b, mounts->items[i].sandbox_id),
		                        &kept, err) < 0)
			result = -1;
		else if (!kept)
			backup_note_changed(b, path, "a call resumed a sandbox that has it");
	}
	return result;
}

static int add_volume(struct backup_run *b, size_t index, struct error *err)
{
	const struct mount_list *mounts = &b->mounts[index];
	const char *path = arena_format(b->arena, "volumes/%s", b->volumes.items[index].id);
	bool *paused = ARENA_ARRAY(b->arena, bool, mounts->count + 1), any = false;
	struct server_tree tree = {0};
	struct error failure = {0};
	int result;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct backed_sandbox *s = find_sandbox(b, mounts->items[i].sandbox_id);

		if (s && !mounts->items[i].is_read_only)
			backup_pause(b, s, path, &paused[i]);
		any = any || paused[i];
	}
	/* What is written to an image has to come to its file. */
	if (any)
		sync();
	result = backup_add_tree(b, path, &tree, err);
	/* Also after a failure, which is the one to report. */
	if (resume_holders(b, mounts, paused, path, &failure) < 0 && result == 0) {
		*err = failure;
		return -1;
	}
	return result;
}

static int add_volumes(struct backup_run *b, struct error *err)
{
	struct server_tree top = {.without_contents = true};

	if (backup_add_tree(b, "volumes", &top, err) < 0)
		return -1;
	for (size_t i = 0; i < b->volumes.count; i++) {
		b->now = arena_format(b->arena, "volume %zu of %zu", i + 1, b->volumes.count);
		if (add_volume(b, i, err) < 0)
			return -1;
	}
	return 0;
}

/* Files of the server that lie elsewhere, which only its operator can put back. */
static const char **find_outside(struct backup_run *b)
{
	const struct config *config = b->options->config;
	const char *const paths[] = {config->secret_key_file, config->blobs, config->tls_cert,
	                             config->tls_key, config->store};
	const char **list = ARENA_ARRAY(b->arena, const char *, COUNT_OF(paths) + 2);
	const char *own = arena_format(b->arena, "%s/", config->data_dir);
	char link[PATH_MAX];
	unsigned count = 0;
	ssize_t size = readlinkat(b->data, "atoll.yaml", link, sizeof(link) - 1);

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		if (paths[i][0] && strncmp(paths[i], own, strlen(own)) != 0)
			list[count++] = paths[i];
	}
	if (size > 0)
		list[count++] = arena_copy(b->arena, (struct span){link, (size_t)size});
	return list;
}

static int open_writer(struct backup_run *b, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SERVER_MANIFEST_MAX);
	struct server_manifest manifest = {
	        .format = BACKUP_SERVER_FORMAT,
	        .version = BACKUP_SERVER_VERSION,
	        .atoll = ATOLL_VERSION,
	        .made_at = clock_unix_ms(),
	        .node = b->node,
	        .place = b->options->config->data_dir,
	        .uid = b->uid,
	        .gid = b->gid,
	        .sandboxes = (int64_t)b->sandbox_count,
	        .snapshots = b->snapshot_count,
	        .volumes = (int64_t)b->volumes.count,
	        .outside = find_outside(b),
	};
	const struct server_writer_options options = {
	        .fd = b->output.fd,
	        .on_progress = on_progress,
	        .on_left_out = on_left_out,
	        .context = b,
	};

	server_manifest_write(&manifest, &text);
	return server_writer_open(&options, buf_span(&text), &b->writer, err);
}

static int pack_server(struct backup_run *b, struct error *err)
{
	if (backup_copy_database(b, err) < 0 || backup_list_layers(b, err) < 0)
		return -1;
	fault_point("backup", "copied");
	if (open_writer(b, err) < 0 || add_plain(b, err) < 0 || add_database(b, err) < 0 ||
	    backup_add_sandboxes(b, err) < 0 || add_volumes(b, err) < 0 ||
	    backup_add_layers(b, err) < 0)
		return -1;
	fault_point("backup", "packed");
	return backup_check_pairing(b, err);
}

static int make_file(struct backup_run *b, struct server_contents *ret, struct error *err)
{
	if (server_calls_forget_snapshots(&b->calls, err) < 0 ||
	    backup_output_open(b->arena, b->options->target, b->options->force, &b->output, err) <
	            0 ||
	    pack_server(b, err) < 0 || server_writer_end(b->writer, ret, err) < 0)
		return -1;
	fault_point("backup", "finish");
	return backup_output_finish(b->arena, &b->output, b->options->force, err);
}

static void add_notes(struct buf *out, const char *name, const struct backup_note *notes,
                      size_t count)
{
	json_begin_list(out, name);
	for (size_t i = 0; i < count; i++) {
		json_begin_object(out, NULL);
		json_add_text(out, "path", notes[i].path);
		json_add_text(out, "why", notes[i].why);
		json_end_object(out);
	}
	json_end_list(out);
}

static void write_json_result(struct backup_run *b, const struct server_contents *c, int64_t size,
                              struct buf *out)
{
	json_begin_object(out, NULL);
	json_add_text(out, "file", b->output.path);
	json_add_whole(out, "size", size);
	json_add_whole(out, "entries", c->entries);
	json_add_whole(out, "bytes", c->bytes);
	json_add_whole(out, "sandboxes", (int64_t)b->sandbox_count - b->gone);
	json_add_whole(out, "snapshots", b->snapshot_count);
	json_add_whole(out, "volumes", (int64_t)b->volumes.count);
	json_add_whole(out, "gone", b->gone);
	add_notes(out, "changed", b->changed, b->changed_count);
	json_add_whole(out, "left_out_count", (int64_t)b->left_out_count);
	add_notes(out, "left_out", b->left_out, b->left_out_named);
	json_add_texts(out, "outside", (const char *const *)find_outside(b));
	json_end_object(out);
	buf_add_byte(out, '\n');
}

static void print_notes(struct backup_run *b, struct buf *out, const char *title,
                        const struct backup_note *notes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "%s '%s': %s\n", title, text_out_safe(b->arena, notes[i].path),
		         notes[i].why);
}

static void write_text_result(struct backup_run *b, const struct server_contents *c, int64_t size,
                              struct buf *out)
{
	buf_addf(out, "%s  %s\n", b->output.path, text_out_bytes(b->arena, (double)size));
	buf_addf(out,
	         "%" PRId64 " sandboxes, %" PRId64 " snapshots, %zu volumes; %s in %" PRId64
	         " files\n",
	         (int64_t)b->sandbox_count - b->gone, b->snapshot_count, b->volumes.count,
	         text_out_bytes(b->arena, (double)c->bytes), c->entries);
	print_notes(b, out, "changed while it was read:", b->changed, b->changed_count);
	print_notes(b, out, "left out:", b->left_out, b->left_out_named);
	if (b->left_out_count > b->left_out_named)
		buf_addf(out, "left out: %zu more\n", b->left_out_count - b->left_out_named);
	for (const char **at = find_outside(b); *at; at++)
		buf_addf(out, "not in the backup: %s\n",
		         strstr(*at, "://") ? "another database" : *at);
	buf_add_text(out, "It holds the server's keys: keep it secret.\n");
}

static int print_result(struct backup_run *b, const struct server_contents *c, struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(RESULT_MAX);
	struct stat status;

	if (stat(b->output.path, &status) < 0)
		return FAIL_ERRNO(err, "look at '%s'", b->output.path);
	clear_line(b);
	for (size_t i = 0; i < b->sandbox_count; i++)
		b->gone += b->sandboxes[i].has_files && !b->sandboxes[i].is_packed;
	if (b->options->json)
		write_json_result(b, c, status.st_size, &out);
	else
		write_text_result(b, c, status.st_size, &out);
	return fd_write_all(STDOUT_FILENO, buf_text(&out), out.size, err);
}

/* One backup at a time: its lock, and what a killed one has left. */
static int open_run(struct backup_run *b, int *ret_lock, struct error *err)
{
	const char *path = b->options->config->data_dir;
	struct stat status;

	b->data = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->data < 0)
		return FAIL_ERRNO(err, "open the data folder '%s'", path);
	if (fstatat(b->data, "store", &status, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL(err, ERROR_NOT_FOUND, "'%s' is no data folder of a server", path);
	b->uid = status.st_uid;
	b->gid = status.st_gid;
	*ret_lock =
	        openat(b->data, "run/backup.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*ret_lock < 0)
		return FAIL_ERRNO(err, "open 'run/backup.lock'");
	if (flock(*ret_lock, LOCK_EX | LOCK_NB) < 0)
		return FAIL(err, ERROR_CONFLICT, "another backup of '%s' is being made", path);
	return server_calls_open(&b->calls, path, err);
}

static void close_run(struct backup_run *b, int *result, struct error *err)
{
	struct error failure = {0};

	clear_line(b);
	server_writer_free(b->writer);
	backup_output_close(&b->output);
	if (server_calls_forget_snapshots(&b->calls, &failure) < 0 && *result == 0) {
		*err = failure;
		*result = -1;
	}
	backup_remove_database(b);
	server_calls_close(&b->calls);
	map_done(&b->wanted);
	map_done(&b->layers);
	map_done(&b->snapshots);
	auto_close(&b->data);
}

int backup_server(const struct backup_options *options, struct error *err)
{
	struct backup_run b = {
	        .arena = options->arena,
	        .options = options,
	        .calls = {.arena = options->arena, .lock_fd = -1},
	        .output = BACKUP_OUTPUT,
	        .data = -1,
	        .now = "",
	};
	struct server_contents contents;
	AUTO_CLOSE int lock = -1;
	int result = open_run(&b, &lock, err);

	if (result < 0) {
		server_calls_close(&b.calls);
		auto_close(&b.data);
		return -1;
	}
	result = make_file(&b, &contents, err);
	if (result == 0)
		result = print_result(&b, &contents, err);
	close_run(&b, &result, err);
	return result;
}
