/* SPDX-License-Identifier: Apache-2.0 */
/* `atoll tls init` and `atoll tls renew`: self-made certificates for --tls-listen. */
#include "cli/server/tls.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/server/commands.h"
#include "cli/core/local.h"
#include "http/tls/certificate.h"
#include "json/write.h"

#define DOMAIN_DEFAULT "e2b.localhost"

/* An existing authority is kept, because clients trust it. */
static const char *const authority_files[] = {"ca.pem", "ca.key"};
static const char *const server_files[] = {"server.pem", "server.key"};

static const char *add_dns_name(struct cli *cli, struct certificate_names *names,
                                const char *prefix, const char *name)
{
	if (names->count == CERTIFICATE_NAMES_MAX)
		return NULL;
	names->names[names->count] = arena_format(cli->arena, "%s%s", prefix, name);
	return names->names[names->count++];
}

/* All names of this machine, the domain and all names below it. */
static int choose_names(struct cli *cli, struct certificate_names *ret)
{
	const char *domain = arguments_text(&cli->args, "domain", DOMAIN_DEFAULT), *more;
	char own[254] = "";
	unsigned i = 0;

	(void)add_dns_name(cli, ret, "", domain);
	(void)add_dns_name(cli, ret, "*.", domain);
	(void)add_dns_name(cli, ret, "", "localhost");
	(void)add_dns_name(cli, ret, "", "127.0.0.1");
	(void)add_dns_name(cli, ret, "", "::1");
	if (gethostname(own, sizeof(own) - 1) == 0 && own[0] && strcmp(own, "localhost") != 0)
		(void)add_dns_name(cli, ret, "", own);
	while ((more = arguments_text_at(&cli->args, "name", i++)))
		if (!add_dns_name(cli, ret, "", more))
			return FAIL(cli->err, ERROR_LIMIT, "more than %d names",
			            CERTIFICATE_NAMES_MAX);
	return 0;
}

static int open_folder(struct cli *cli, const char **ret_path, int *ret_fd)
{
	const char *path = arguments_text(&cli->args, "out", NULL), *data;

	if (path && arguments_has(&cli->args, "data"))
		return FAIL(cli->err, ERROR_INVALID, "--out and --data exclude each other");
	if (!path) {
		if (local_data_dir(cli->arena, &data, cli->err) < 0)
			return -1;
		data = arguments_text(&cli->args, "data", data);
		/* The server corrects the mode of its own folder when it starts. */
		if (mkdir(data, 0755) < 0 && errno != EEXIST)
			return FAIL_ERRNO(cli->err, "make the folder '%s'", data);
		path = arena_format(cli->arena, "%s/tls", data);
	}
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(cli->err, "make the folder '%s'", path);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0)
		return FAIL_ERRNO(cli->err, "open the folder '%s'", path);
	*ret_path = path;
	return 0;
}

static int refuse_existing(struct cli *cli, int folder, const char *path)
{
	const char *const *const lists[] = {authority_files, server_files};

	if (arguments_has(&cli->args, "force"))
		return 0;
	for (unsigned i = 0; i < 4; i++) {
		const char *name = lists[i / 2][i % 2];

		if (faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		(void)FAIL(cli->err, ERROR_CONFLICT, "'%s/%s' exists", path, name);
		return FAIL_HINT(cli->err, "'atoll tls renew' makes a new certificate; --force a "
		                           "new authority, which clients do not trust yet");
	}
	return 0;
}

static int write_pair(struct cli *cli, int folder, const char *const files[2],
                      const struct certificate_pair *pair)
{
	if (file_write(folder, files[1], buf_span(&pair->key), 0600, cli->err) < 0)
		return -1;
	return file_write(folder, files[0], buf_span(&pair->certificate), 0644, cli->err);
}

static int make_server(struct cli *cli, int folder, const struct certificate_pair *authority)
{
	AUTO(certificate_pair_done) struct certificate_pair server = CERTIFICATE_PAIR;
	struct certificate_names names = {.count = 0};

	if (choose_names(cli, &names) < 0 ||
	    certificate_make(&names, authority, &server, cli->err) < 0)
		return -1;
	return write_pair(cli, folder, server_files, &server);
}

static int print_files(struct cli *cli, const char *path)
{
	AUTO(buf_done) struct buf out = BUF(16 * 1024);

	if (cli->json) {
		json_begin_object(&out, NULL);
		json_add_text(&out, "certificate", arena_format(cli->arena, "%s/server.pem", path));
		json_add_text(&out, "key", arena_format(cli->arena, "%s/server.key", path));
		json_add_text(&out, "authority", arena_format(cli->arena, "%s/ca.pem", path));
		json_end_object(&out);
		buf_add_byte(&out, '\n');
	} else {
		buf_addf(&out,
		         "certificate  %s/server.pem, good for %d days\n"
		         "key          %s/server.key\n"
		         "authority    %s/ca.pem\n\n"
		         "atoll serve --tls-listen 127.0.0.1:8443 --tls-cert %s/server.pem "
		         "--tls-key %s/server.key\n"
		         "export NODE_EXTRA_CA_CERTS=%s/ca.pem SSL_CERT_FILE=%s/ca.pem\n",
		         path, CERTIFICATE_DAYS, path, path, path, path, path, path);
	}
	return fd_write_all(1, out.data, out.size, cli->err);
}

int tls_authority_make(struct cli *cli, const char **ret_path)
{
	AUTO(certificate_pair_done) struct certificate_pair authority = CERTIFICATE_PAIR;
	struct certificate_names names = {.count = 0};
	AUTO_CLOSE int folder = -1;

	if (choose_names(cli, &names) < 0 ||
	    certificate_make_authority(&names, &authority, cli->err) < 0 ||
	    open_folder(cli, ret_path, &folder) < 0 ||
	    refuse_existing(cli, folder, *ret_path) < 0 ||
	    write_pair(cli, folder, authority_files, &authority) < 0)
		return -1;
	return make_server(cli, folder, &authority);
}

static int run_tls_init(struct cli *cli)
{
	const char *path;

	if (tls_authority_make(cli, &path) < 0)
		return -1;
	return print_files(cli, path);
}

static int run_tls_renew(struct cli *cli)
{
	AUTO(certificate_pair_done) struct certificate_pair authority = CERTIFICATE_PAIR;
	AUTO_CLOSE int folder = -1;
	const char *path;

	if (open_folder(cli, &path, &folder) < 0)
		return -1;
	if (file_read(folder, authority_files[0], &authority.certificate, cli->err) < 0 ||
	    file_read(folder, authority_files[1], &authority.key, cli->err) < 0) {
		return FAIL_HINT(cli->err, "'atoll tls init' makes an authority");
	}
	if (make_server(cli, folder, &authority) < 0)
		return -1;
	return print_files(cli, path);
}

#define OUT                                                                                        \
	{                                                                                          \
		"out", "FOLDER", "folder of the files (default DATA/tls)",                         \
		        .completion = COMPLETE_FOLDER                                              \
	}
#define DATA                                                                                       \
	{                                                                                          \
		"data", "DIR", "data folder of the server", .completion = COMPLETE_FOLDER          \
	}
#define DOMAIN                                                                                     \
	{                                                                                          \
		"domain", "NAME", "a name and all names below it (default " DOMAIN_DEFAULT ")"     \
	}
#define NAME                                                                                       \
	{                                                                                          \
		"name", "NAME", "another name or address of the server", .repeats = true           \
	}
static const struct command_option init_options[] = {
        DOMAIN, NAME, DATA, OUT, {"force", NULL, "replace existing files"}, {.name = NULL}};
static const struct command_option renew_options[] = {DOMAIN, NAME, DATA, OUT, {.name = NULL}};

static const struct cli_command children[] = {
        {"init", "[--domain NAME] [--name NAME]... [--data DIR | --out FOLDER] [--force]",
         "make a certificate authority and a certificate for --tls-cert", .options = init_options,
         .run = run_tls_init},
        {"renew", "[--domain NAME] [--name NAME]... [--data DIR | --out FOLDER]",
         "make a new certificate with the same authority; a running server loads it",
         .options = renew_options, .run = run_tls_renew},
        {0},
};

const struct cli_command command_tls = {
        .name = "tls",
        .usage = "COMMAND",
        .about = "make certificates for a server with --tls-listen",
        .children = children,
};
