/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/api.h"
#include "base/fd.h"
#include "base/log.h"
#include "config/idle_variables.h"
#include "daemon/credentials.h"
#include "daemon/daemon.h"
#include "daemon/names.h"
#include "daemon/options.h"
#include "daemon/server.h"
#include "daemon/supervisor.h"
#include "provider/host_limits.h"

#define EXIT_USAGE 2

static int print_text(struct buf *text)
{
	struct error err;

	if (text->overflowed || fd_write_all(1, text->data, text->size, &err) < 0)
		return 1;
	return 0;
}

static int print_help(void)
{
	AUTO(buf_done) struct buf text = BUF(64 * 1024);

	daemon_options_help(&text);
	return print_text(&text);
}

static int print_openapi(void)
{
	AUTO(buf_done) struct buf text = BUF(4 * 1024 * 1024);

	api_write_openapi(&text);
	buf_add_byte(&text, '\n');
	return print_text(&text);
}

static int print_version(void)
{
	AUTO(buf_done) struct buf text = BUF(256);

	buf_add_text(&text, "atolld " ATOLL_VERSION "\n");
	return print_text(&text);
}

static enum log_level level_of(const char *name)
{
	static const char *const names[] = {"error", "warning", "info", "debug"};

	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		if (strcmp(names[i], name) == 0)
			return (enum log_level)i;
	}
	return LOG_INFO;
}

static void warn_of_idle_variables(void)
{
	const struct config_idle_variable *v = NULL;

	while ((v = config_idle_variable_next(environ, v)))
		log_warning("a variable of the environment has no effect",
		            TEXT("variable", v->name), TEXT("because", v->because));
}

static int run_role(struct arena *a, const struct daemon_options *o, struct error *err)
{
	struct config config;

	if (daemon_config_load(a, o, &config, err) < 0)
		return -1;
	log_open(o->role == ROLE_NAMES         ? "atolld-names"
	         : o->role == ROLE_CREDENTIALS ? "atolld-credentials"
	                                       : "atolld",
	         level_of(config.log_level));
	/* The programs that this one starts read the variable. */
	log_format_set(config.log_format);
	if (setenv(LOG_FORMAT_VARIABLE, config.log_format, 1) < 0)
		return FAIL_ERRNO(err, "set " LOG_FORMAT_VARIABLE);
	log_debug_set(config.debug);
	switch (o->role) {
	case ROLE_API:
		return server_run(a, o, &config, err);
	case ROLE_CREDENTIALS:
		return credentials_run(o, &config, err);
	case ROLE_NAMES:
		return names_run(o, &config, err);
	case ROLE_SUPERVISOR:
		break;
	}
	warn_of_idle_variables();
	return supervisor_run(a, &config, o->claim, err);
}

/* A person who starts the server by hand reads a sentence; the processes below it, and a server
 * without a terminal, write to the log. */
static void report_failure(enum daemon_role role, const char *event, const struct error *err)
{
	if (role == ROLE_SUPERVISOR && isatty(STDERR_FILENO))
		log_tell(err);
	else
		log_error(event, FAILURE(err), TEXT("hint", err->hint));
}

int daemon_main(int argc, char **argv)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct daemon_options options;
	struct error err = {.code = ERROR_NONE};

	log_open("atolld", LOG_INFO);
	if (daemon_options_parse(&a, argc, argv, &options, &err) < 0) {
		report_failure(ROLE_SUPERVISOR, "bad command line", &err);
		return EXIT_USAGE;
	}
	if (options.help)
		return print_help();
	if (options.version)
		return print_version();
	if (options.openapi)
		return print_openapi();
	if (run_role(&a, &options, &err) == 0)
		return 0;
	host_limits_explain(&err);
	report_failure(options.role, "ended", &err);
	return 1;
}
