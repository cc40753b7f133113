/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "config/option.h"

struct options_parser {
	struct arena *arena;
	struct daemon_options *options;
	size_t flag_count;
};

static int set_role(struct options_parser *p, const char *value, struct error *err)
{
	static const char *const roles[] = {[ROLE_SUPERVISOR] = "supervisor",
	                                    [ROLE_API] = "api",
	                                    [ROLE_NAMES] = "names",
	                                    [ROLE_CREDENTIALS] = "credentials"};

	for (unsigned i = 0; i < COUNT_OF(roles); i++) {
		if (strcmp(value, roles[i]) == 0) {
			p->options->role = (enum daemon_role)i;
			return 0;
		}
	}
	return FAIL(err, ERROR_INVALID, "'%s' is neither supervisor, api, names nor credentials",
	            value);
}

static int set_config_file(struct options_parser *p, const char *value, UNUSED struct error *err)
{
	p->options->config_file = value;
	return 0;
}

static int set_config_origins(struct options_parser *p, const char *value, UNUSED struct error *err)
{
	p->options->config_origins = value;
	return 0;
}

static int parse_fd(const char *value, int *ret, struct error *err)
{
	int64_t fd;

	if (span_parse_whole(span_of(value), 3, 1024, &fd, err) < 0)
		return -1;
	*ret = (int)fd;
	return 0;
}

static int add_listen_fd(struct options_parser *p, const char *value, struct error *err)
{
	if (p->options->listen_count == LISTEN_FDS_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d sockets", LISTEN_FDS_MAX);
	return parse_fd(value, &p->options->listen_fds[p->options->listen_count++], err);
}

static int add_names_fd(struct options_parser *p, const char *value, struct error *err)
{
	if (p->options->names_count == NAMES_FDS)
		return FAIL(err, ERROR_LIMIT, "more than %d descriptors", NAMES_FDS);
	return parse_fd(value, &p->options->names_fds[p->options->names_count++], err);
}

#define FD(member) MEMBER_OFFSET(daemon_options, member, int)
static const struct own_option {
	const char *name;
	int (*set)(struct options_parser *p, const char *value, struct error *err);
	const char *about; /* NULL = only used between processes of the server */
	size_t fd;         /* offset of the descriptor; without `set` */
} own_options[] = {
        {"config", set_config_file, "FILE with options, instead of DATA/atoll.yaml"},
        {"role", set_role, "supervisor (default), or api: the api process alone"},
        {"config-origins", set_config_origins, NULL},
        {"listen-fd", add_listen_fd, NULL},
        {"key-fd", .fd = FD(key_fd)},
        {"ready-fd", .fd = FD(ready_fd)},
        {"tls-listen-fd", .fd = FD(tls_listen_fd)},
        {"certificate-fd", .fd = FD(certificate_fd)},
        {"names-fd", add_names_fd, NULL},
        {"reports-fd", .fd = FD(reports_fd)},
        {"packets-fd", .fd = FD(packets_fd)},
        {"control-fd", .fd = FD(control_fd)},
        {"handover-fd", .fd = FD(handover_fd)},
        {"login-fd", .fd = FD(login_fd)},
};

static const struct own_option *own_option_find(struct span name)
{
	for (size_t i = 0; i < COUNT_OF(own_options); i++) {
		if (span_equals_text(name, own_options[i].name))
			return &own_options[i];
	}
	return NULL;
}

static int set_own(struct options_parser *p, const struct own_option *own, const char *value,
                   struct error *err)
{
	int *fd = (void *)((char *)p->options + own->fd);

	return own->set ? own->set(p, value, err) : parse_fd(value, fd, err);
}

/* Accepts options with '-' and with '_'. */
static void add_flag(struct options_parser *p, struct span name, const char *value)
{
	char *flag = arena_format(p->arena, "%.*s=%s", (int)name.size, name.data, value);

	for (size_t i = 0; i < name.size; i++) {
		if (flag[i] == '-')
			flag[i] = '_';
	}
	p->options->flags[p->flag_count++] = flag;
}

static bool set_switch(struct daemon_options *o, const char *argument)
{
	if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
		o->help = true;
	else if (strcmp(argument, "--version") == 0)
		o->version = true;
	else if (strcmp(argument, "--openapi") == 0)
		o->openapi = true;
	else if (strcmp(argument, "--adopt") == 0)
		o->claim = FLEET_CLAIM_ADOPT;
	else if (strcmp(argument, "--recover") == 0)
		o->claim = FLEET_CLAIM_RECOVER;
	else
		return false;
	return true;
}

static int parse_option(struct options_parser *p, char **argv, int *at, struct error *err)
{
	struct span rest = span_of(argv[*at] + 2), name;
	const struct own_option *own;
	const char *value;

	if (span_split(&rest, '=', &name))
		value = rest.data;
	else if (argv[*at + 1])
		value = argv[++*at];
	else
		return FAIL(err, ERROR_INVALID, "--%.*s needs a value", (int)name.size, name.data);
	own = own_option_find(name);
	if (own && set_own(p, own, value, err) < 0)
		return FAIL_CONTEXT(err, "--%s", own->name);
	if (!own)
		add_flag(p, name, value);
	return 0;
}

int daemon_options_parse(struct arena *a, int argc, char **argv, struct daemon_options *ret,
                         struct error *err)
{
	struct options_parser p = {.arena = a, .options = ret};

	*ret = (struct daemon_options){.key_fd = -1,
	                               .ready_fd = -1,
	                               .tls_listen_fd = -1,
	                               .certificate_fd = -1,
	                               .reports_fd = -1,
	                               .packets_fd = -1,
	                               .control_fd = -1,
	                               .handover_fd = -1,
	                               .login_fd = -1};
	ret->flags = ARENA_ARRAY(a, const char *, (size_t)argc + 1);
	for (int i = 1; i < argc; i++) {
		if (set_switch(ret, argv[i]))
			continue;
		if (strncmp(argv[i], "--", 2) != 0) {
			(void)FAIL(err, ERROR_INVALID, "unknown argument '%s'", argv[i]);
			return FAIL_HINT(err, "atolld --help lists the options");
		}
		if (parse_option(&p, argv, &i, err) < 0)
			return -1;
	}
	return 0;
}

void daemon_options_help(struct buf *out)
{
	buf_add_text(
	        out,
	        "atolld - isolated computers for AI agents: the server\n\n"
	        "usage: atolld [--OPTION VALUE]...\n\n"
	        "  --help       this text\n"
	        "  --version    its version\n"
	        "  --openapi    the OpenAPI document of its HTTP API\n"
	        "  --adopt      use a store that does not match the data folder: what the store\n  "
	        "             does not know goes to the trash\n"
	        "  --recover    the same, but make rows for it, from what lies in the folder\n");
	for (size_t i = 0; i < COUNT_OF(own_options); i++) {
		if (own_options[i].about)
			buf_addf(out, "  --%-10s %s\n", own_options[i].name, own_options[i].about);
	}
	buf_add_text(out, "\nand each option of the configuration:\n\n");
	for (const struct config_option *o = config_options; o->name; o++) {
		AUTO(buf_done) struct buf flag = BUF(64);

		config_add_flag(&flag, o);
		buf_addf(out, "  %-24s %s\n", buf_text(&flag), o->about);
	}
}

int daemon_config_load(struct arena *a, const struct daemon_options *o, struct config *ret,
                       struct error *err)
{
	const struct config_source source = {
	        .flags = o->flags,
	        .file = o->config_file,
	        .environment = environ,
	        .origins = o->config_origins,
	};

	return config_load(a, &source, ret, err);
}
