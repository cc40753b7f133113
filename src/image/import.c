/* SPDX-License-Identifier: Apache-2.0 */
/* Templates from archives and registries. The input may be hostile, so each step that reads it
 * runs in a strict jail that can write only to the partial folder. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/backup.h"
#include "image/command.h"
#include "image/config.h"
#include "image/failure.h"
#include "image/outlet.h"
#include "image/progress.h"
#include "image/reference.h"
#include "image/root.h"
#include "image/tree.h"
#include "image/unpack.h"
#include "image/work.h"

/* In scratch/, as the jail sees it: the image as an OCI layout, and where umoci unpacks it. */
#define LAYOUT "image"
#define LAYOUT_TAG "template"
#define LAYOUT_TARGET "oci:" WORK_SCRATCH "/" LAYOUT ":" LAYOUT_TAG
#define BUNDLE "bundle"
#define GIVEN "given" /* the layout as received */

struct template_import {
	struct work *work;
	struct arena *arena;
};

struct import_source {
	int fd;
	const char *reference;
	const char *digest; /* of the registry's image; "" = not asked yet */
};

static void report_progress(const struct template_import *m, int percent, const char *text)
{
	progress_tell(m->work->spec->progress_fd, percent, text);
}

/* Used by this process, outside the jail. */
static const char *in_scratch(const struct template_import *m, const char *name)
{
	return arena_format(m->arena, "%s/%s", m->work->scratch, name);
}

/* Shared with the jailed process, which reports its error here. */
struct unpack_task {
	struct unpack options;
	struct error failure;
};

static void print_percent(UNUSED void *context, int percent)
{
	printf("%d\n", percent);
	(void)fflush(stdout);
}

static void print_size(UNUSED void *context, int64_t bytes)
{
	printf("size %lld\n", (long long)bytes);
	(void)fflush(stdout);
}

static int run_unpack(void *context)
{
	struct unpack_task *task = context;

	task->options.source_fd = JAIL_SOURCE_FD;
	return unpack_archive(&task->options, &task->failure) < 0 ? 1 : 0;
}

struct progress_span {
	const struct template_import *import;
	int start, span;
};

static void take_line(void *context, const char *line)
{
	const struct progress_span *p = context;
	struct error ignored = {0};
	int64_t percent, bytes;

	if (strncmp(line, "size ", 5) == 0 &&
	    span_parse_whole(span_of(line + 5), 0, INT64_MAX, &bytes, &ignored) == 0)
		progress_tell_size(p->import->work->spec->progress_fd, bytes);
	else if (span_parse_whole(span_of(line), 0, 100, &percent, &ignored) == 0)
		report_progress(p->import, p->start + (int)(p->span * percent / 100), "unpacking");
}

static int run_unpack_jailed(const struct template_import *m, int source_fd, const char *target,
                             int percent_end, struct error *err)
{
	struct progress_span progress = {m, 2, percent_end - 2};
	struct unpack_task *task = mmap(NULL, sizeof(*task), PROT_READ | PROT_WRITE,
	                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (task == MAP_FAILED)
		return FAIL_ERRNO(err, "map memory");
	task->options = (struct unpack){.target = target,
	                                .size_max = m->work->spec->size_max,
	                                .keep_owners = true,
	                                .on_progress = print_percent,
	                                .on_size = print_size};
	struct image_command command = {.function = run_unpack,
	                                .context = task,
	                                .folder_fd = m->work->folder,
	                                .strict = true,
	                                .source_fd = source_fd,
	                                .on_line = take_line,
	                                .line_context = &progress};
	int ret = command_run(m->work->spec, &command, err);
	/* The daemon ended the process, so it reported nothing. */
	if (ret < 0 && task->failure.code != ERROR_NONE)
		*err = task->failure;
	(void)munmap(task, sizeof(*task));
	return ret;
}

/* No credentials of this machine: HOME is empty. */
#define TOOL_ENV "TMPDIR=" WORK_SCRATCH, "HOME=" WORK_SCRATCH, "XDG_RUNTIME_DIR=" WORK_SCRATCH
static const char *const tool_env[] = {TOOL_ENV, NULL};
static const char *const outlet_env[] = {TOOL_ENV, "HTTPS_PROXY=" OUTLET_URL,
                                         "HTTP_PROXY=" OUTLET_URL, NULL};

static void tell_copying(void *context, const char *line)
{
	if (strstr(line, "blob sha256"))
		report_progress(context, 30, "copying layers");
	else if (strstr(line, "manifest"))
		report_progress(context, 45, "copying the manifest");
}

/* umoci reads only layers compressed by gzip, so skopeo repacks layers compressed by zstd. */
#define COPY "skopeo", "--insecure-policy", "copy", "--dest-compress-format=gzip"

static int copy_image(const struct template_import *m, struct image_command *command,
                      struct error *err)
{
	command->env = command->network_fd > 0 ? outlet_env : tool_env;
	command->folder_fd = m->work->folder;
	command->strict = true;
	command->measured = m->work->scratch;
	command->on_line = tell_copying;
	command->line_context = (void *)(uintptr_t)m;
	return command_run(m->work->spec, command, err);
}

/* `from` in skopeo's notation. */
static int copy_file(const struct template_import *m, const char *from, int source_fd,
                     struct error *err)
{
	const char *argv[] = {COPY, from, LAYOUT_TARGET, NULL};
	struct image_command command = {.argv = argv, .source_fd = source_fd};
	struct stat st;

	if (fstat(source_fd, &st) == 0 && S_ISREG(st.st_mode))
		command.packed_bytes = st.st_size;

	report_progress(m, 10, "reading the archive");
	return copy_image(m, &command, err);
}

#define DIGEST_PREFIX "sha256:"
#define DIGEST_SIZE (sizeof(DIGEST_PREFIX) - 1 + 64)

struct said_digest {
	char text[DIGEST_SIZE + 1];
};

static void take_digest(void *context, const char *line)
{
	struct said_digest *said = context;

	if (strncmp(line, DIGEST_PREFIX, sizeof(DIGEST_PREFIX) - 1) == 0 &&
	    strlen(line) == DIGEST_SIZE)
		memcpy(said->text, line, sizeof(said->text));
}

/* Without tag and digest. */
static const char *repository_of(struct arena *a, const char *reference)
{
	const char *last = strrchr(reference, '/');
	size_t size = strcspn(last ? last : reference, ":@");

	return arena_copy(a,
	                  (struct span){reference, size + (size_t)(last ? last - reference : 0)});
}

/* The digest by which the registry knows the image: of the list, if it has one for each processor.
 */
static int ask_digest(const struct template_import *m, struct import_source *source,
                      const struct image_command *like, struct error *err)
{
	struct said_digest said = {{0}};
	const char *at = strchr(source->reference, '@');
	const char *argv[] = {
	        "skopeo",
	        "--insecure-policy",
	        "inspect",
	        "--no-tags",
	        "--format={{.Digest}}",
	        source->fd < 0 ? "--no-creds" : "--authfile=/dev/fd/3",
	        reference_is_loopback(source->reference) ? "--tls-verify=false"
	                                                 : "--tls-verify=true",
	        arena_format(m->arena, "docker://%s", source->reference),
	        NULL,
	};
	struct image_command command = *like;

	if (at) {
		source->digest = at + 1;
		return 0;
	}
	command.argv = argv;
	command.env = command.network_fd > 0 ? outlet_env : tool_env;
	command.folder_fd = m->work->folder;
	command.strict = true;
	command.on_line = take_digest;
	command.line_context = &said;
	if (command_run(m->work->spec, &command, err) < 0)
		return -1;
	source->digest = arena_text(m->arena, said.text);
	return *said.text ? 0 : FAIL(err, ERROR_SYSTEM, "the registry names no digest");
}

static bool is_known(const struct image_spec *spec, const char *digest)
{
	return spec->known_digest && *spec->known_digest && strcmp(spec->known_digest, digest) == 0;
}

/* Signatures prove nothing without a list of trusted keys. skopeo gets a login in a file without a
 * name, so that neither a list of processes nor the disk shows it. */
static int copy_by_digest(const struct template_import *m, const struct import_source *source,
                          struct image_command *command, struct error *err)
{
	const char *reference = source->reference;
	const char *argv[] = {
	        COPY,
	        source->fd < 0 ? "--src-no-creds" : "--src-authfile=/dev/fd/3",
	        reference_is_loopback(reference) ? "--src-tls-verify=false"
	                                         : "--src-tls-verify=true",
	        arena_format(m->arena, "docker://%s@%s", repository_of(m->arena, reference),
	                     source->digest),
	        LAYOUT_TARGET,
	        NULL,
	};

	command->argv = argv;
	return copy_image(m, command, err);
}

/* *ret_is_known: the caller has the image already, and nothing is loaded. */
static int copy_remote(const struct template_import *m, struct import_source *source,
                       bool *ret_is_known, struct error *err)
{
	struct image_command command = {.source_fd = source->fd};
	AUTO(outlet_close) struct outlet outlet = OUTLET_CLOSED;

	report_progress(m, 10, "asking the registry");
	/* A proxy of the machine decides itself which hosts it reaches. */
	command.network = m->work->spec->allow_private || command_has_proxy();
	if (!command.network) {
		if (outlet_open(&outlet, err) < 0)
			return -1;
		command.network_fd = outlet.network_fd;
	}
	if (ask_digest(m, source, &command, err) < 0)
		return -1;
	*ret_is_known = is_known(m->work->spec, source->digest);
	return *ret_is_known ? 0 : copy_by_digest(m, source, &command, err);
}

static int unpack_image(const struct template_import *m, struct error *err)
{
	static const char *const argv[] = {"umoci",
	                                   "unpack",
	                                   "--image",
	                                   WORK_SCRATCH "/" LAYOUT ":" LAYOUT_TAG,
	                                   WORK_SCRATCH "/" BUNDLE,
	                                   NULL};
	const char *bundle = in_scratch(m, BUNDLE);
	int64_t packed;
	struct image_command command = {.argv = argv,
	                                .env = tool_env,
	                                .folder_fd = m->work->folder,
	                                .strict = true,
	                                .source_fd = -1,
	                                .measured = bundle};

	if (tree_size(in_scratch(m, LAYOUT), &packed, err) < 0)
		return -1;
	command.packed_bytes = packed;
	report_progress(m, 50, "unpacking layers");
	if (mkdir(bundle, 0700) < 0)
		return FAIL_ERRNO(err, "make the folder of the bundle");
	return command_run(m->work->spec, &command, err);
}

/* The bundle's rootfs becomes the root. */
static int take_rootfs(const struct template_import *m, struct error *err)
{
	const char *rootfs = in_scratch(m, BUNDLE "/rootfs");

	if (rmdir(m->work->root) < 0 || rename(rootfs, m->work->root) < 0)
		return FAIL_ERRNO(err, "move the image's root");
	return 0;
}

static int finish_image(const struct template_import *m, struct image_config *config,
                        struct error *err)
{
	if (oci_config_load(m->arena, in_scratch(m, LAYOUT), config, err) < 0 ||
	    unpack_image(m, err) < 0)
		return -1;
	return take_rootfs(m, err);
}

static int import_tar(const struct template_import *m, const struct import_source *source,
                      struct image_config *config, struct error *err)
{
	*config = (struct image_config){"{}", "[]", "[]", "", "", 0, ""};
	return run_unpack_jailed(m, source->fd, WORK_ROOT, 80, err);
}

static int import_oci(const struct template_import *m, const struct import_source *source,
                      struct image_config *config, struct error *err)
{
	if (mkdir(in_scratch(m, GIVEN), 0700) < 0)
		return FAIL_ERRNO(err, "make a folder for the layout");
	if (run_unpack_jailed(m, source->fd, WORK_SCRATCH "/" GIVEN, 20, err) < 0 ||
	    copy_file(m, "oci:" WORK_SCRATCH "/" GIVEN, -1, err) < 0)
		return -1;
	return finish_image(m, config, err);
}

static int import_docker(const struct template_import *m, const struct import_source *source,
                         struct image_config *config, struct error *err)
{
	if (copy_file(m, "docker-archive:/dev/fd/3", source->fd, err) < 0)
		return -1;
	return finish_image(m, config, err);
}

/* Loopback addresses bypass proxies. */
static int check_registry(const struct image_spec *spec, const char *reference, struct error *err)
{
	if (spec->allow_private || !reference_is_loopback(reference))
		return 0;
	(void)FAIL(err, ERROR_FORBIDDEN, "'%.100s' is at " OUTLET_REFUSAL, reference);
	return FAIL_HINT(err, FAILURE_PRIVATE_HINT);
}

static int import_registry(const struct template_import *m, const struct import_source *source,
                           struct image_config *config, struct error *err)
{
	struct import_source asked = *source;
	bool is_known = false;

	if (image_reference_check(source->reference, err) < 0 ||
	    check_registry(m->work->spec, source->reference, err) < 0 ||
	    copy_remote(m, &asked, &is_known, err) < 0)
		return -1;
	if (is_known)
		return 1;
	if (finish_image(m, config, err) < 0)
		return -1;
	config->digest = asked.digest;
	return 0;
}

static int import_backup(const struct template_import *m, const struct import_source *source,
                         struct image_config *config, struct error *err)
{
	const struct backup_template from = {m->work->spec, m->work->folder, source->fd};

	return backup_load_template(&from, m->arena, config, err);
}

static const struct {
	/* 1: the caller has the image already. */
	int (*run)(const struct template_import *m, const struct import_source *source,
	           struct image_config *config, struct error *err);
	bool needs_file, needs_tools;
} importers[IMAGE_FORMAT_COUNT] = {
        [IMAGE_TAR] = {import_tar, true, false},
        [IMAGE_OCI] = {import_oci, true, true},
        [IMAGE_DOCKER_ARCHIVE] = {import_docker, true, true},
        [IMAGE_REGISTRY] = {import_registry, false, true},
        [IMAGE_BACKUP] = {import_backup, true, false},
};

static int check_needs(enum image_format format, const struct import_source *source,
                       struct error *err)
{
	if (importers[format].needs_file && source->fd < 0)
		return FAIL(err, ERROR_INVALID, "format '%s' needs a file",
		            image_format_name(format));
	if (!importers[format].needs_file && !source->reference)
		return FAIL(err, ERROR_INVALID, "format '%s' needs a reference",
		            image_format_name(format));
	if (importers[format].needs_tools &&
	    (command_require("skopeo", err) < 0 || command_require("umoci", err) < 0))
		return -1;
	return 0;
}

/* A root without programs is useless; the most common mistake is the wrong kind of archive. */
static int check_root(const struct work *w, struct error *err)
{
	static const char *const expected[] = {"bin", "usr", "etc"};
	struct stat st;
	char path[sizeof(w->root) + 8];

	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", w->root, expected[i]);
		if (lstat(path, &st) == 0)
			return 0;
	}
	(void)FAIL(err, ERROR_INVALID, "no root filesystem: it has neither /bin nor /usr nor /etc");
	return FAIL_HINT(err,
	                 "for an image in an archive use the format 'oci' or 'docker-archive'");
}

static int finish_import(struct template_import *m, struct image_config *config, struct error *err)
{
	struct work *w = m->work;

	report_progress(m, 85, "making it ready for sandboxes");
	if (check_root(w, err) < 0 || root_finish(w->root, err) < 0 ||
	    tree_strip_attributes(w->root, err) < 0 ||
	    tree_size(w->root, &config->size_bytes, err) < 0)
		return -1;
	progress_tell_size(w->spec->progress_fd, config->size_bytes);
	if (chmod(w->root, 0755) < 0 || chown(w->root, 0, 0) < 0)
		return FAIL_ERRNO(err, "own the root");
	report_progress(m, 95, "writing to disk");
	return work_commit(w, config, err);
}

int image_import(const struct image_spec *spec, enum image_format format, int source_fd,
                 const char *reference, struct error *err)
{
	AUTO(work_done) struct work w = WORK;
	AUTO(arena_done) struct arena a = {0};
	struct import_source source = {source_fd, reference, ""};
	struct image_config config = {0};
	int result;

	if (check_needs(format, &source, err) < 0 || work_begin(&w, spec, err) < 0)
		return -1;
	struct template_import m = {
	        .work = &w,
	        .arena = &a,
	};
	result = importers[format].run(&m, &source, &config, err);
	if (result == 0)
		result = finish_import(&m, &config, err);
	/* The caller names a registry's image itself. */
	if (result < 0)
		return format == IMAGE_REGISTRY
		               ? -1
		               : FAIL_CONTEXT(err, "import as '%s'", image_format_name(format));
	progress_tell(spec->progress_fd, 100, "done");
	return 0;
}
