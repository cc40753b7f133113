/* SPDX-License-Identifier: Apache-2.0 */
/* cli/commands.h — all commands; each is defined in the file of its name. */
#pragma once

#include "cli/command.h"

extern const struct cli_command command_snapshot_export, command_snapshot_import,
        command_snapshot_backups, command_snapshot_forget; /* of command_snapshot */
extern const struct cli_command command_snapshot, command_diff, command_revert, command_fork,
        command_rollback, command_reset, command_bench, command_budget, command_completion,
        command_config, command_cp, command_doctor, command_events, command_exec, command_help,
        command_inspect, command_job, command_key, command_lease, command_logs, command_ls,
        command_pause, command_plan, command_ps, command_resume, command_rm, command_undelete,
        command_down, command_recover, command_run, command_serve, command_shell, command_archive,
        command_start, command_stats, command_stop, command_template, command_usage,
        command_version, command_volume, command_pool, command_tls, command_project, command_member,
        command_settings, command_whoami, command_webhook, command_preview, command_network,
        command_tool, command_mcp;
extern const struct cli_command command_code, command_service, command_sync, command_artifact,
        command_approval, command_skill;
extern const struct cli_command command_replay, command_terminal;
