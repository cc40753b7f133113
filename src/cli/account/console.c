/* SPDX-License-Identifier: Apache-2.0 */
/* `atoll console`: the address of the console, in a browser. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/account/commands.h"
#include "cli/core/server.h"
#include "json/write.h"

extern char **environ;

static const struct command_option options[] = {
        {"print", NULL, "print the address and open no browser"},
        {0},
};

static bool has_browser(const struct cli *cli)
{
	return !arguments_has(&cli->args, "print") && !cli->json && isatty(STDOUT_FILENO) &&
	       (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
}

/* Whether the desktop took the address. */
static bool open_browser(struct cli *cli, const char *address)
{
	char *argv[] = {arena_text(cli->arena, "xdg-open"), arena_text(cli->arena, address), NULL};
	int status;
	pid_t pid;

	return posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0 &&
	       waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Over a unix socket the server knows no address but the host that this program itself has sent. */
static int check_address(const struct cli *cli, const char *address)
{
	const char *own = arena_format(cli->arena, "%s/console/", cli->server->base_url);

	if (!cli->server->unix_socket || strcmp(address, own) != 0)
		return 0;
	(void)FAIL(cli->err, ERROR_UNSUPPORTED,
	           "no browser can open the console: the server listens at a unix socket only");
	return FAIL_HINT(cli->err, "start it with 'atoll serve --listen 127.0.0.1:7777', or set "
	                           "--public-url when a proxy serves the socket");
}

/* Before the first user it is the one-time link. */
static int find_address(struct cli *cli, const char **ret, bool *ret_is_setup)
{
	const struct server_call setup = {.method = "POST", .path = "/v1/sign-in/setup"};
	const struct json_value *ways, *made;

	if (server_get(cli, "/v1/sign-in", &ways) < 0)
		return -1;
	*ret = json_get_text(ways, "console", "");
	if (check_address(cli, *ret) < 0)
		return -1;
	*ret_is_setup = json_get_bool(ways, "setup", false);
	if (!*ret_is_setup)
		return 0;
	if (server_call(cli, &setup, &made) < 0)
		return -1;
	*ret = json_get_text(made, "link", "");
	return 0;
}

static int console_run(struct cli *cli)
{
	const char *address;
	bool is_setup;

	if (cli_connect(cli) < 0 || find_address(cli, &address, &is_setup) < 0)
		return -1;
	if (cli->json) {
		AUTO(buf_done) struct buf out = BUF((size_t)64 * 1024);

		json_begin_object(&out, NULL);
		json_add_text(&out, "address", address);
		json_add_bool(&out, "setup", is_setup);
		json_end_object(&out);
		(void)printf("%s\n", buf_text(&out));
		return 0;
	}
	(void)printf("%s\n", address);
	if (is_setup)
		(void)fprintf(stderr, "The link makes the first user; it works once.\n");
	(void)fflush(stdout);
	if (has_browser(cli) && !open_browser(cli, address))
		(void)fprintf(stderr, "No browser could be opened: open the address yourself.\n");
	return 0;
}

const struct cli_command command_console = {
        .name = "console",
        .usage = "[--print]",
        .about = "open the console in a browser, or print its address",
        .more = "Before the first user this is a one-time link that makes it.",
        .options = options,
        .run = console_run,
};
