/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-image — makes and removes the root filesystems of templates, packs snapshots and unpacks
 * them (image/backup.h). Runs as root, started by the broker; a person can run it too, and sees the
 * progress on standard output.
 *
 *   atoll-image build  --templates DIR --name N --recipe minimal|base|data|web|browser
 *   atoll-image import --templates DIR --name N --recipe tar|oci|docker-archive|backup --source-fd
 * N atoll-image import --templates DIR --name N --recipe registry --source REFERENCE atoll-image
 * remove --templates DIR --name N atoll-image export --snapshots-fd N --layers IDS --templates-fd N
 * --template FOLDER
 *                      --owner-first ID --archive-fd N --document-fd N [--full]
 *   atoll-image load   the same, of one empty layer; verify: the archive and the document only
 *
 * --known-digest DIGEST does not load an image of a registry that has this digest.
 * --allow-private lets registries be in this machine's own network (image/outlet.h).
 * --progress-fd N gets the lines "percent text" (image/image.h), --size-max BYTES limits what it
 * may unpack. It ends when the process that started it does. */
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "image/backup.h"
#include "image/image.h"
#include "image/progress.h"

struct image_arguments {
	struct image_spec spec;
	const char *recipe, *source;
	int source_fd;
	struct backup backup;
};

static int parse_fd(const char *text, int *ret, struct error *err)
{
	int64_t fd;

	if (span_parse_whole(span_of(text), 0, 1 << 20, &fd, err) < 0)
		return -1;
	*ret = (int)fd;
	return 0;
}

static int take_backup_option(struct backup *b, int option, const char *value, struct error *err)
{
	int64_t id;

	switch (option) {
	case 'S':
		return parse_fd(value, &b->snapshots_fd, err);
	case 'T':
		return parse_fd(value, &b->templates_fd, err);
	case 'A':
		return parse_fd(value, &b->archive_fd, err);
	case 'D':
		return parse_fd(value, &b->document_fd, err);
	case 'L':
		b->layers = value;
		return 0;
	case 'B':
		b->template_folder = value;
		return 0;
	case 'F':
		b->full = true;
		return 0;
	case 'O':
		if (span_parse_whole(span_of(value), 0, UINT32_MAX, &id, err) < 0)
			return -1;
		b->owner_first = (uint32_t)id;
		return 0;
	default:
		return FAIL(err, ERROR_INVALID, "wrong argument");
	}
}

static int take_option(struct image_arguments *a, int option, const char *value, struct error *err)
{
	switch (option) {
	case 't':
		a->spec.templates_dir = value;
		return 0;
	case 'n':
		a->spec.name = value;
		return 0;
	case 'r':
		a->recipe = value;
		return 0;
	case 's':
		a->source = value;
		return 0;
	case 'f':
		return parse_fd(value, &a->source_fd, err);
	case 'p':
		return parse_fd(value, &a->spec.progress_fd, err);
	case 'P':
		a->spec.allow_private = true;
		return 0;
	case 'k':
		a->spec.known_digest = value;
		return 0;
	case 'm':
		return span_parse_whole(span_of(value), 1, INT64_MAX, &a->spec.size_max, err);
	default:
		return take_backup_option(&a->backup, option, value, err);
	}
}

static int parse_arguments(int argc, char **argv, struct image_arguments *a, struct error *err)
{
	static const struct option options[] = {
	        {"templates", required_argument, NULL, 't'},
	        {"name", required_argument, NULL, 'n'},
	        {"recipe", required_argument, NULL, 'r'},
	        {"source", required_argument, NULL, 's'},
	        {"source-fd", required_argument, NULL, 'f'},
	        {"progress-fd", required_argument, NULL, 'p'},
	        {"size-max", required_argument, NULL, 'm'},
	        {"snapshots-fd", required_argument, NULL, 'S'},
	        {"templates-fd", required_argument, NULL, 'T'},
	        {"archive-fd", required_argument, NULL, 'A'},
	        {"document-fd", required_argument, NULL, 'D'},
	        {"layers", required_argument, NULL, 'L'},
	        {"template", required_argument, NULL, 'B'},
	        {"owner-first", required_argument, NULL, 'O'},
	        {"full", no_argument, NULL, 'F'},
	        {"allow-private", no_argument, NULL, 'P'},
	        {"known-digest", required_argument, NULL, 'k'},
	        {NULL, 0, NULL, 0},
	};

	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) >= 0;)
		if (take_option(a, option, optarg, err) < 0)
			return -1;
	if (optind + 1 != argc)
		return FAIL(err, ERROR_INVALID,
		            "usage: atoll-image build|import|remove|export|load|verify …");
	a->backup.progress_fd = a->spec.progress_fd;
	a->backup.size_max = a->spec.size_max;
	return 0;
}

static int run_build(const struct image_arguments *a, struct error *err)
{
	return image_build(&a->spec, a->recipe ? a->recipe : "", err);
}

static int run_import(const struct image_arguments *a, struct error *err)
{
	enum image_format format;

	if (image_format_parse(a->recipe ? a->recipe : "", &format, err) < 0)
		return -1;
	return image_import(&a->spec, format, a->source_fd, a->source, err);
}

static int run_remove(const struct image_arguments *a, struct error *err)
{
	return image_remove(a->spec.templates_dir, a->spec.name, err);
}

static int run_export(const struct image_arguments *a, struct error *err)
{
	return backup_export(&a->backup, err);
}

static int run_load(const struct image_arguments *a, struct error *err)
{
	return backup_load(&a->backup, err);
}

static int run_verify(const struct image_arguments *a, struct error *err)
{
	return backup_verify(&a->backup, err);
}

static const struct {
	const char *name;
	bool is_backup; /* needs the backup's descriptors; other verbs need a template's name */
	int (*run)(const struct image_arguments *a, struct error *err);
} verbs[] = {
        {"build", false, run_build},  {"import", false, run_import}, {"remove", false, run_remove},
        {"export", true, run_export}, {"load", true, run_load},      {"verify", true, run_verify},
};

static int check_arguments(const struct image_arguments *a, bool is_backup, struct error *err)
{
	const struct backup *b = &a->backup;

	if (!is_backup)
		return a->spec.templates_dir && a->spec.name
		               ? 0
		               : FAIL(err, ERROR_INVALID,
		                      "--templates DIR and --name NAME are needed");
	return b->archive_fd >= 0 && b->document_fd >= 0
	               ? 0
	               : FAIL(err, ERROR_INVALID, "--archive-fd N and --document-fd N are needed");
}

static int run_verb(const char *verb, const struct image_arguments *a, struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		if (!strcmp(verbs[i].name, verb))
			return check_arguments(a, verbs[i].is_backup, err) < 0
			               ? -1
			               : verbs[i].run(a, err);
	return FAIL(err, ERROR_INVALID,
	            "no verb '%.40s': build, import, remove, export, load or verify", verb);
}

int main(int argc, char **argv)
{
	struct image_arguments a = {
	        .spec = {.progress_fd = STDOUT_FILENO, .size_max = IMAGE_BYTES_MAX},
	        .source_fd = -1,
	        .backup = {.snapshots_fd = -1,
	                   .templates_fd = -1,
	                   .archive_fd = -1,
	                   .document_fd = -1,
	                   .layers = "",
	                   .template_folder = ""},
	};
	struct error err = {0};

	log_open("atoll-image", LOG_INFO);
	/* Names in archives are UTF-8, whatever the caller's locale is. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)umask(022);
	(void)signal(SIGPIPE, SIG_IGN);
	/* Without its parent, a build would hold its lock for minutes to no use. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (parse_arguments(argc, argv, &a, &err) == 0 && run_verb(argv[optind], &a, &err) == 0)
		return 0;
	progress_fail(a.spec.progress_fd, &err);
	log_error("failed", TEXT("name", a.spec.name ? a.spec.name : a.backup.layers),
	          FAILURE(&err));
	return error_kind_get(err.code)->exit_status;
}
