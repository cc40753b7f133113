/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/server/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/core/command.h"
#include "cli/core/local.h"
#include "cli/server/commands.h"
#include "cli/server/diagnosis.h"
#include "json/write.h"

#define TEXT_SIZE_MAX (256u * 1024)
#define CONFIG_DEFAULT "/etc/atoll/atoll.yaml"

static const char *const state_names[] = {
        [SETUP_KEPT] = "kept",
        [SETUP_DONE] = "made",
        [SETUP_SKIPPED] = "skipped",
};

struct findings {
	struct diagnosis *list;
	unsigned count;
	bool is_able;
};

static void examine_host(const struct machine_setup *s, struct findings *ret)
{
	struct arena *a = s->cli->arena;
	const struct diagnosis_check *own;
	unsigned own_count = setup_checks(&own);

	ret->count = diagnosis_count() + own_count;
	ret->list = ARENA_ARRAY(a, struct diagnosis, ret->count);
	(void)diagnosis_make(a, s->data, ret->list);
	diagnosis_run(a, s->data, own, own_count, ret->list + diagnosis_count());
	ret->is_able = diagnosis_is_able(ret->list, ret->count);
}

/* Also of a path that does not exist yet. */
static int make_absolute(struct cli *cli, const char *path, const char **ret)
{
	char folder[4096];

	*ret = path;
	if (path[0] == '/')
		return 0;
	if (!getcwd(folder, sizeof(folder)))
		return FAIL_ERRNO(cli->err, "find the current folder");
	*ret = arena_format(cli->arena, "%s/%s", folder, path);
	return 0;
}

static int find_places(struct machine_setup *s)
{
	struct cli *cli = s->cli;
	const char *data;

	if (local_data_dir(cli->arena, &data, cli->err) < 0 ||
	    make_absolute(cli, arguments_text(&cli->args, "data", data), &s->data) < 0)
		return -1;
	return make_absolute(cli, arguments_text(&cli->args, "config", CONFIG_DEFAULT), &s->config);
}

static void write_json(const struct machine_setup *s, const struct findings *f, struct buf *out)
{
	json_begin_object(out, NULL);
	json_add_bool(out, "able", f->is_able);
	diagnosis_add_json(f->list, f->count, out);
	json_begin_list(out, "steps");
	for (unsigned i = 0; i < s->step_count; i++) {
		json_begin_object(out, NULL);
		json_add_text(out, "name", s->steps[i].name);
		json_add_text(out, "state", state_names[s->steps[i].state]);
		json_add_text(out, "text", s->steps[i].text);
		json_end_object(out);
	}
	json_end_list(out);
	json_add_text(out, "data", s->data);
	json_add_text(out, "config", s->config);
	json_add_text(out, "admin_key", arena_format(s->cli->arena, "%s/admin.key", s->data));
	json_add_bool(out, "started", s->is_unit_started);
	json_end_object(out);
	buf_add_byte(out, '\n');
}

static void write_next(const struct machine_setup *s, struct buf *out)
{
	if (!s->is_unit_started)
		buf_addf(out, "\nstart the server   atoll serve --data %s\n", s->data);
	else
		buf_add_text(out, "\nthe server runs    systemctl status atoll\n");
	buf_addf(out,
	         "admin key          %s/admin.key%s\n"
	         "first command      atoll run -t host -- echo works\n"
	         "a look at it all   atoll doctor\n",
	         s->data, s->is_unit_started ? "" : " (the first start makes it)");
}

static void write_text(const struct machine_setup *s, const struct findings *f, struct buf *out)
{
	diagnosis_add_text(f->list, f->count, out);
	if (s->step_count > 0)
		buf_add_byte(out, '\n');
	for (unsigned i = 0; i < s->step_count; i++)
		buf_addf(out, "%-8s %-22s %s\n", state_names[s->steps[i].state], s->steps[i].name,
		         s->steps[i].text);
	if (!f->is_able)
		buf_add_text(out, "\nNothing was made: first cure what is 'missing' above.\n");
	else if (s->step_count > 0)
		write_next(s, out);
	else
		buf_add_text(out, "\nThis machine can be a server: 'atoll setup' makes it one.\n");
}

static int run_setup(struct cli *cli)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_SIZE_MAX);
	struct machine_setup s = {.cli = cli};
	struct error failure = {0};
	struct findings f;
	int result = 0;

	if (find_places(&s) < 0)
		return -1;
	examine_host(&s, &f);
	if (f.is_able && !arguments_has(&cli->args, "check"))
		result = setup_make(&s, &failure);
	if (cli->json)
		write_json(&s, &f, &text);
	else if (result == 0)
		write_text(&s, &f, &text);
	(void)fputs(buf_text(&text), stdout);
	if (result < 0)
		*cli->err = failure;
	return result < 0 ? -1 : f.is_able ? 0 : 1;
}

static const struct command_option options[] = {
        {"check", NULL, "only look, and make nothing"},
        {"data", "DIR", "data folder of the server", .completion = COMPLETE_FOLDER},
        {"config", "FILE", "the configuration to make (default " CONFIG_DEFAULT ")",
         .completion = COMPLETE_FILE},
        {"tls", NULL, "make a certificate authority and a certificate, and listen with TLS"},
        {"domain", "NAME", "with --tls: a name and all names below it"},
        {"name", "NAME", "with --tls: another name or address of the server", .repeats = true},
        {0},
};

const struct cli_command command_setup = {
        .name = "setup",
        .usage = "[--check] [--data DIR] [--config FILE] [--tls [--domain NAME] [--name NAME]...]",
        .about = "make this machine a server after the installation",
        .more = "Checks kernel, cgroups, programs, disk, port and user, and tells the cure of what "
                "is\n"
                "missing. Then it makes what is not there yet: data folder, configuration, with "
                "--tls\n"
                "certificates; and starts the service where systemd runs. Nothing that exists is\n"
                "changed, so that it may run again. The exit status is 1 if something is missing.",
        .options = options,
        .run = run_setup,
};
