/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/server/commands.h"
#include "cli/core/resources.h"
#include "isolation/plan.h"
#include "json/write.h"

#define TEXT_SIZE_MAX (256u * 1024)
#define MIB (1024u * 1024)

/* A plan numbers its mounts; these numbers stand for the broker's descriptors. */
enum { ROOT_FD, DEV_FD, SYS_FD, USR_FD, SUDO_FD, SUDO_LIB_FD };

static struct isolation_spec spec_of(const struct cli *cli, const struct sandbox_resources *r)
{
	const char *template = arguments_text(&cli->args, "template", "base");
	bool is_host = strcmp(template, "host") == 0;

	return (struct isolation_spec){
	        .runsc_fd = ISOLATION_FD_NONE,
	        .agent_fd = ISOLATION_FD_NONE,
	        .hostname = arguments_text(&cli->args, "name", "sandbox"),
	        .machine_id = "00000000000000000000000000000000", /* each sandbox has its own */
	        .project_dir = "/home/user/project",
	        .resolv_conf =
	                arguments_has(&cli->args, "no-internet") ? "" : "nameserver 1.1.1.1\n",
	        .memory_bytes = (uint64_t)r->memory_mb * MIB,
	        .disk_bytes = (uint64_t)r->disk_mb * MIB,
	        .pids = (uint64_t)r->pids,
	        .host_template = is_host,
	        .root_fd = ROOT_FD,
	        .dev_fd = DEV_FD,
	        .sys_fd = SYS_FD,
	        .usr_fd = is_host ? USR_FD : ISOLATION_FD_NONE,
	        .sudo_fd = is_host ? SUDO_FD : ISOLATION_FD_NONE,
	        .sudo_lib_fd = is_host ? SUDO_LIB_FD : ISOLATION_FD_NONE,
	        .sudo_lib_dir = "/usr/libexec/sudo",
	};
}

static void print_as_json(struct buf *out, const struct buf *text)
{
	struct span rest = buf_span(text), line;

	json_begin_object(out, NULL);
	json_begin_list(out, "steps");
	while (rest.size > 0) {
		(void)span_split(&rest, '\n', &line);
		json_add_span(out, NULL, span_trim(line));
	}
	json_end_list(out);
	json_end_object(out);
	buf_add_byte(out, '\n');
}

static int run_plan(struct cli *cli)
{
	AUTO(buf_done) struct buf text = BUF(TEXT_SIZE_MAX), json = BUF(2 * TEXT_SIZE_MAX);
	struct sandbox_resources layers[2] = {{0}, SANDBOX_BUILT_IN_RESOURCES}, no_cap = {0};
	struct sandbox_resources effective;
	struct isolation_spec spec;
	struct setup_plan *steps = ARENA_NEW(cli->arena, struct setup_plan);

	if (resources_parse(&cli->args, &layers[0], cli->err) < 0)
		return -1;
	effective = sandbox_resources_resolve(layers, 2, &no_cap);
	spec = spec_of(cli, &effective);
	if (isolation_plan_kernel(isolation_cgroups_find(), steps, cli->err) < 0)
		return -1;
	plan_print(&text, steps);
	if (isolation_plan(cli->arena, &spec, steps, cli->err) < 0)
		return -1;
	plan_print(&text, steps);
	if (cli->json)
		print_as_json(&json, &text);
	(void)fputs(buf_text(cli->json ? &json : &text), stdout);
	return 0;
}

static const struct command_option options[] = {
        OPTION_TEMPLATE,
        {"name", "NAME", "host name inside the sandbox"},
        OPTIONS_RESOURCES,
        OPTION_NO_INTERNET,
        {0},
};

const struct cli_command command_plan = {
        .name = "plan",
        .usage = "[OPTION...]",
        .about = "print the steps that set up a sandbox, without executing them",
        .more = "Needs neither root nor a server. Process 1 of the sandbox takes the steps: first\n"
                "those that all sandboxes share, then those of this sandbox, numbered\n"
                "separately. The\n"
                "broker has made the mounts with numbers beforehand.",
        .options = options,
        .run = run_plan,
};
