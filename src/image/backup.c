/* SPDX-License-Identifier: Apache-2.0 */
#include "image/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "image/backup_jail.h"
#include "image/command.h"
#include "image/config.h"
#include "image/progress.h"

/* The process ends after this call. */
static struct jailed_backup *task_new(const struct backup *b, struct error *err)
{
	const struct rlimit files = {65536, 65536};
	struct jailed_backup *task = mmap(NULL, sizeof(*task), PROT_READ | PROT_WRITE,
	                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (task == MAP_FAILED) {
		(void)FAIL_ERRNO(err, "map memory");
		return NULL;
	}
	if (sodium_init() < 0) {
		(void)FAIL(err, ERROR_SYSTEM, "libsodium cannot be used");
		return NULL;
	}
	/* At each depth a folder of each layer may be open. */
	(void)setrlimit(RLIMIT_NOFILE, &files);
	task->backup = b;
	return task;
}

static int take_digest(struct jailed_backup *task, struct error *err)
{
	const struct backup *b = task->backup;

	if (backup_template_digest(b->templates_fd, b->template_folder, &task->template, err) < 0)
		return -1;
	(void)snprintf(task->outcome.template_digest, BACKUP_DIGEST_SIZE, "%s",
	               task->template.files);
	return 0;
}

struct backup_pack_progress {
	int progress_fd;
	const char *text;
};

static void on_line(void *context, const char *line)
{
	const struct backup_pack_progress *t = context;
	struct error ignored = {0};
	int64_t percent;

	if (span_parse_whole(span_of(line), 0, 100, &percent, &ignored) == 0)
		progress_tell(t->progress_fd, (int)percent, t->text);
}

/* The jailed process wrote this, and a hostile archive may control that process. */
static int check_task(struct jailed_backup *task, struct error *err)
{
	const struct backup_outcome *o = &task->outcome;

	if (o->manifest_size > sizeof(o->manifest) || task->opaque_size > sizeof(task->opaque) ||
	    (task->opaque_size > 0 && task->opaque[task->opaque_size - 1] != '\0') ||
	    strnlen(o->sha256, sizeof(o->sha256)) == sizeof(o->sha256) ||
	    strnlen(o->template_digest, sizeof(o->template_digest)) == sizeof(o->template_digest))
		return FAIL(err, ERROR_SYSTEM, "the jailed half of a backup answers nonsense");
	return 0;
}

/* The function that runs in the jail, and its folders there. */
struct jailed_function {
	int (*function)(void *);
	int folder_fd, read_fd;
	const char *text;
};

static int run_jailed(struct jailed_backup *task, const struct jailed_function *jailed,
                      struct error *err)
{
	const struct backup *b = task->backup;
	const struct image_spec spec = {.progress_fd = b->progress_fd, .size_max = b->size_max};
	struct backup_pack_progress telling = {b->progress_fd, jailed->text};
	const struct image_command command = {.function = jailed->function,
	                                      .context = task,
	                                      .folder_fd = jailed->folder_fd,
	                                      .read_fd = jailed->read_fd,
	                                      .strict = true,
	                                      .read_only = jailed->function == backup_pack,
	                                      .source_fd = b->archive_fd,
	                                      .on_line = on_line,
	                                      .line_context = &telling};

	if (command_run(&spec, &command, err) == 0)
		return check_task(task, err);
	/* The daemon ended the process, so it reported nothing. */
	if (task->failure.code != ERROR_NONE)
		*err = task->failure;
	return -1;
}

static int run_and_write_outcome(struct jailed_backup *task, const struct jailed_function *jailed,
                                 struct error *err)
{
	if (run_jailed(task, jailed, err) < 0)
		return -1;
	return backup_outcome_write(task->backup->document_fd, &task->outcome, err);
}

static int write_manifest(struct jailed_backup *task, struct error *err)
{
	AUTO(buf_done) struct buf document = BUF(BACKUP_DOCUMENT_MAX / 2);
	AUTO(buf_done) struct buf text = BUF(BACKUP_DOCUMENT_MAX);
	struct backup_outcome *outcome = &task->outcome;

	if (backup_document_read(task->backup->document_fd, &document, err) < 0)
		return -1;
	backup_manifest_write(
	        &text, &(struct backup_manifest){
	                       .format = BACKUP_FORMAT,
	                       .version = task->backup->full ? BACKUP_VERSION_FULL : BACKUP_VERSION,
	                       .full = task->backup->full,
	                       .entries = outcome->entries,
	                       .bytes = outcome->bytes,
	                       .template_digest = outcome->template_digest,
	                       .snapshot = buf_span(&document),
	               });
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the manifest is too large");
	outcome->manifest_size = text.size;
	memcpy(outcome->manifest, text.data, text.size);
	return 0;
}

static int open_template(const struct backup *b, struct layers *ret, struct error *err)
{
	int fd;

	if (!b->full)
		return 0;
	if (backup_template_open(b->templates_fd, b->template_folder, &fd, err) < 0)
		return -1;
	layers_init(ret, fd);
	return 0;
}

int backup_export(const struct backup *b, struct error *err)
{
	AUTO(layers_done) struct layers layers = {.count = 0}, template = {.count = 0};
	struct jailed_backup *task = task_new(b, err);
	struct jailed_function jailed = {
	        .function = backup_pack, .folder_fd = b->snapshots_fd, .text = "packing"};

	if (!task || layers_open(&layers, b->snapshots_fd, b->layers, err) < 0 ||
	    open_template(b, &template, err) < 0 || layers_note_opaque(&layers, err) < 0 ||
	    take_digest(task, err) < 0 ||
	    backup_count(&layers, b->full ? &template : NULL, b->size_max, &task->outcome, err) <
	            0 ||
	    write_manifest(task, err) < 0)
		return -1;
	task->layers = &layers;
	if (b->full)
		jailed.read_fd = template.fds[0];
	return run_and_write_outcome(task, &jailed, err);
}

static int set_opaque(int upper, const char *path, struct error *err)
{
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	                             .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
	                                        RESOLVE_NO_XDEV};
	AUTO_CLOSE int fd = (int)syscall(SYS_openat2, upper, *path ? path : ".", &how, sizeof(how));

	if (fd < 0 || fsetxattr(fd, LAYERS_OPAQUE, "y", 1, 0) < 0)
		return FAIL_ERRNO(err, "let the folder '%.100s' hide the template's", path);
	return 0;
}

static int set_all_opaque(int layer, const struct jailed_backup *task, struct error *err)
{
	AUTO_CLOSE int upper =
	        openat(layer, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *end = task->opaque + task->opaque_size;

	if (upper < 0)
		return FAIL_ERRNO(err, "open the layer");
	for (const char *path = task->opaque; path < end; path += strlen(path) + 1)
		if (set_opaque(upper, path, err) < 0)
			return -1;
	return 0;
}

int backup_load(const struct backup *b, struct error *err)
{
	struct jailed_backup *task = task_new(b, err);
	struct jailed_function jailed = {.function = backup_unpack, .text = "unpacking"};
	AUTO_CLOSE int layer = -1;

	if (!task || (*b->template_folder && take_digest(task, err) < 0))
		return -1;
	if (!id_is_valid(b->layers))
		return FAIL(err, ERROR_INVALID, "'%.40s' is no layer", b->layers);
	layer = openat(b->snapshots_fd, b->layers, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (layer < 0)
		return FAIL_ERRNO(err, "open layer '%s'", b->layers);
	jailed.folder_fd = layer;
	if (run_and_write_outcome(task, &jailed, err) < 0 || set_all_opaque(layer, task, err) < 0)
		return -1;
	if (syncfs(layer) < 0)
		return FAIL_ERRNO(err, "bring the layer to the disk");
	/* This makes it a snapshot (broker/layers/stacks.h), so it comes after all files. */
	if (symlinkat("snapshot", layer, "kept") < 0 || fsync(layer) < 0 ||
	    fsync(b->snapshots_fd) < 0)
		return FAIL_ERRNO(err, "keep layer '%s'", b->layers);
	return 0;
}

int backup_verify(const struct backup *b, struct error *err)
{
	struct jailed_backup *task = task_new(b, err);
	const struct jailed_function jailed = {
	        .function = backup_unpack, .folder_fd = -1, .text = "checking"};

	if (!task)
		return -1;
	task->is_dry = true;
	return run_and_write_outcome(task, &jailed, err);
}

/* fleet/backup/backup.c wrote this, or a stranger did. */
static int read_config(const struct jailed_backup *task, struct arena *a, struct image_config *ret,
                       struct error *err)
{
	const char *text =
	        arena_copy(a, (struct span){task->outcome.manifest, task->outcome.manifest_size});
	const struct json_value *manifest;

	if (json_load(a, span_of(text), &manifest, err) < 0)
		return FAIL_CONTEXT(err, BACKUP_MANIFEST);
	*ret = config_of_backup(a, json_get(json_get(manifest, "snapshot"), "image"));
	return 0;
}

int backup_load_template(const struct backup_template *from, struct arena *a,
                         struct image_config *ret, struct error *err)
{
	const struct backup b = {.archive_fd = from->archive_fd,
	                         .progress_fd = from->spec->progress_fd,
	                         .size_max = from->spec->size_max};
	struct jailed_backup *task = task_new(&b, err);
	const struct jailed_function jailed = {
	        .function = backup_unpack, .folder_fd = from->folder, .text = "unpacking"};

	if (!task)
		return -1;
	task->is_template = true;
	if (run_jailed(task, &jailed, err) < 0)
		return -1;
	return read_config(task, a, ret, err);
}
