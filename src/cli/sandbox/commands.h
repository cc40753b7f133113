/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/commands.h — the commands for sandboxes: their life, commands in them, snapshots,
 * volumes and leases; each is defined in the file of its
 * name, changes of state in states.c. */
#pragma once

#include "cli/core/command.h"

extern const struct cli_command command_activity, command_archive, command_code, command_diff,
        command_egress, command_events, command_exec, command_fork, command_inspect, command_job,
        command_lease, command_logs, command_network, command_pause, command_ports, command_preview,
        command_ps, command_reset, command_resume, command_revert, command_rm, command_rollback,
        command_run, command_service, command_set, command_snapshot, command_start, command_stats,
        command_stop, command_undelete, command_volume, command_workspace;
