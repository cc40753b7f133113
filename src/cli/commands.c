/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "cli/account/commands.h"
#include "cli/check/commands.h"
#include "cli/files/commands.h"
#include "cli/sandbox/commands.h"
#include "cli/server/commands.h"
#include "cli/sync/commands.h"
#include "cli/template/commands.h"
#include "cli/terminal/commands.h"
#include "cli/tool/commands.h"

const struct cli_command *const commands[] = {
        &command_run,        &command_exec,
        &command_shell,      &command_code,
        &command_cp,         &command_sync,
        &command_ls,         &command_job,
        &command_service,    &command_ps,
        &command_ports,      &command_inspect,
        &command_logs,       &command_stats,
        &command_events,     &command_activity,
        &command_webhook,    &command_start,
        &command_stop,       &command_archive,
        &command_pause,      &command_preview,
        &command_network,    &command_set,
        &command_resume,     &command_rm,
        &command_undelete,   &command_snapshot,
        &command_fork,       &command_rollback,
        &command_reset,      &command_diff,
        &command_revert,     &command_template,
        &command_volume,     &command_workspace,
        &command_pool,       &command_terminal,
        &command_replay,     &command_lease,
        &command_tool,       &command_mcp,
        &command_artifact,   &command_approval,
        &command_skill,      &command_key,
        &command_org,        &command_project,
        &command_member,     &command_settings,
        &command_user,       &command_console,
        &command_whoami,     &command_usage,
        &command_budget,     &command_setup,
        &command_serve,      &command_down,
        &command_recover,    &command_backup,
        &command_restore,    &command_tls,
        &command_config,     &command_server,
        &command_doctor,     &command_plan,
        &command_provider,   &command_check,
        &command_routing,    &command_bench,
        &command_completion, &command_version,
        &command_help,       NULL,
};
