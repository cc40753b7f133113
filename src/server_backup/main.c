/* SPDX-License-Identifier: Apache-2.0 */
#include "server_backup/server_backup.h"

#include <getopt.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "server_backup/options.h"

#define EXIT_USAGE 2

static const struct option long_options[] = {
        {"data", required_argument, NULL, 'd'}, {"config", required_argument, NULL, 'c'},
        {"json", no_argument, NULL, 'j'},       {"check", no_argument, NULL, 'k'},
        {"force", no_argument, NULL, 'f'},      {0},
};

struct arguments {
	struct config_source source;
	struct config config;
	const char *flags[2];
	struct backup_options options;
};

static int take_option(struct arguments *a, int option, const char *value)
{
	switch (option) {
	case 'd':
		a->flags[0] = arena_format(a->options.arena, "data=%s", value);
		return 0;
	case 'c':
		a->source.file = value;
		return 0;
	case 'j':
		a->options.json = true;
		return 0;
	case 'k':
		a->options.check = true;
		return 0;
	case 'f':
		a->options.force = true;
		return 0;
	default:
		return -1;
	}
}

static int parse_arguments(struct arguments *a, int argc, char **argv, struct error *err)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		if (take_option(a, option, optarg) < 0)
			return FAIL(err, ERROR_INVALID, "unknown argument '%s'", argv[optind - 1]);
	}
	if (argc - optind != 2)
		return FAIL(err, ERROR_INVALID,
		            "atoll-backup needs 'backup' or 'restore', and a "
		            "file");
	a->options.target = argv[optind + 1];
	return 0;
}

static int run_program(struct arguments *a, int argc, char **argv, struct error *err)
{
	if (parse_arguments(a, argc, argv, err) < 0)
		return -1;
	if (geteuid() != 0) {
		(void)FAIL(err, ERROR_FORBIDDEN, "a server's files belong to root");
		return FAIL_HINT(err, "use sudo, on the server's machine");
	}
	if (config_load(a->options.arena, &a->source, &a->config, err) < 0)
		return -1;
	a->options.config = &a->config;
	if (strcmp(argv[optind], "backup") == 0)
		return backup_server(&a->options, err);
	if (strcmp(argv[optind], "restore") == 0)
		return restore_server(&a->options, err);
	return FAIL(err, ERROR_INVALID, "'%s' is neither 'backup' nor 'restore'", argv[optind]);
}

int server_backup_main(int argc, char **argv)
{
	AUTO(arena_done) struct arena arena = {0};
	struct error err = {0};
	struct arguments a = {.options = {.arena = &arena}};

	a.source = (struct config_source){.flags = a.flags, .environment = environ};
	/* libarchive passes names through unchanged only in a locale of bytes that it can read. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)umask(077);
	log_open("atoll", LOG_WARNING);
	if (run_program(&a, argc, argv, &err) == 0)
		return 0;
	log_tell(&err);
	return error_kind_get(err.code)->exit_status;
}
