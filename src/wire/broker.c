/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/broker.h"

#include "wire/agent_warm.h"
#include "wire/broker_messages.h"

#define NAME_MAX_BYTES 64
#define REVIEW_MAX_BYTES (3 * NAME_MAX_BYTES) /* two ids and a template's name */
#define TEXT_MAX_BYTES 1024
#define VOLUMES_MAX 8 /* of one sandbox */

const struct wire_member broker_hello_shape[] = {
        WIRE_U64_MEMBER(broker_hello, request),
        WIRE_U32_MEMBER(broker_hello, protocol),
        WIRE_END,
};

const struct wire_member broker_welcome_shape[] = {
        WIRE_U64_MEMBER(broker_welcome, request),
        WIRE_U32_MEMBER(broker_welcome, protocol),
        WIRE_U32_MEMBER(broker_welcome, can_limit_disk),
        WIRE_U32_MEMBER(broker_welcome, can_network),
        WIRE_TEXT_MEMBER(broker_welcome, cgroup, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_welcome, can_pause),
        WIRE_END,
};

const struct wire_member broker_id_shape[] = {
        WIRE_U64_MEMBER(broker_id, request),
        WIRE_TEXT_MEMBER(broker_id, sandbox, NAME_MAX_BYTES),
        WIRE_U64_MEMBER(broker_id, grace_ms),
        WIRE_END,
};

const struct wire_member broker_create_shape[] = {
        WIRE_U64_MEMBER(broker_create, request),
        WIRE_U32_MEMBER(broker_create, kind),
        WIRE_TEXT_MEMBER(broker_create, sandbox, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_create, hostname, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_create, template_name, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_create, network),
        WIRE_U32_MEMBER(broker_create, privileges),
        WIRE_U64_MEMBER(broker_create, cpu_milli),
        WIRE_U64_MEMBER(broker_create, memory_bytes),
        WIRE_U64_MEMBER(broker_create, disk_bytes),
        WIRE_U64_MEMBER(broker_create, pids),
        WIRE_U32_MEMBER(broker_create, background),
        WIRE_U32_MEMBER(broker_create, has_kvm),
        WIRE_TEXT_MEMBER(broker_create, snapshot, NAME_MAX_BYTES),
        WIRE_TEXT_LIST_MEMBER(broker_create, volumes, VOLUMES_MAX),
        WIRE_TEXT_MEMBER(broker_create, review, REVIEW_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_create, warm, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_create, egress, BROKER_EGRESS_MAX),
        WIRE_TEXT_MEMBER(broker_create, owner, NAME_MAX_BYTES),
        WIRE_U64_MEMBER(broker_create, lease_epoch),
        WIRE_END,
};

const struct wire_member broker_egress_shape[] = {
        WIRE_U64_MEMBER(broker_egress, request),
        WIRE_TEXT_MEMBER(broker_egress, sandbox, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_egress, egress, BROKER_EGRESS_MAX),
        WIRE_END,
};

const struct wire_member broker_created_shape[] = {
        WIRE_U64_MEMBER(broker_created, request),
        WIRE_U32_MEMBER(broker_created, disk_is_advisory),
        WIRE_U64_MEMBER(broker_created, took_us),
        WIRE_TEXT_MEMBER(broker_created, steps, TEXT_MAX_BYTES),
        WIRE_END,
};

const struct wire_member broker_entry_shape[] = {
        WIRE_U64_MEMBER(broker_entry, request),
        WIRE_TEXT_MEMBER(broker_entry, sandbox, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_entry, running),
        WIRE_U32_MEMBER(broker_entry, paused),
        WIRE_TEXT_MEMBER(broker_entry, owner, NAME_MAX_BYTES),
        WIRE_U64_MEMBER(broker_entry, lease_epoch),
        WIRE_END,
};

const struct wire_member broker_usage_shape[] = {
        WIRE_U64_MEMBER(broker_usage, request),
        WIRE_U64_MEMBER(broker_usage, uptime_ms),
        WIRE_U64_MEMBER(broker_usage, cpu_us),
        WIRE_U64_MEMBER(broker_usage, memory_bytes),
        WIRE_U64_MEMBER(broker_usage, memory_limit),
        WIRE_U64_MEMBER(broker_usage, disk_bytes),
        WIRE_U64_MEMBER(broker_usage, disk_limit),
        WIRE_U64_MEMBER(broker_usage, pids),
        WIRE_U64_MEMBER(broker_usage, pids_limit),
        WIRE_U64_MEMBER(broker_usage, network_in),
        WIRE_U64_MEMBER(broker_usage, network_out),
        WIRE_U64_MEMBER(broker_usage, oom_kills),
        WIRE_END,
};

const struct wire_member broker_template_shape[] = {
        WIRE_U64_MEMBER(broker_template, request),
        WIRE_U32_MEMBER(broker_template, verb),
        WIRE_TEXT_MEMBER(broker_template, name, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_template, recipe, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_template, source, TEXT_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_template, known_digest, TEXT_MAX_BYTES),
        WIRE_U64_MEMBER(broker_template, size_max),
        WIRE_END,
};

const struct wire_member broker_snapshot_shape[] = {
        WIRE_U64_MEMBER(broker_snapshot, request),
        WIRE_TEXT_MEMBER(broker_snapshot, sandbox, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_snapshot, snapshot, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_snapshot, sync),
        WIRE_U32_MEMBER(broker_snapshot, dry),
        WIRE_END,
};

const struct wire_member broker_snapshot_made_shape[] = {
        WIRE_U64_MEMBER(broker_snapshot_made, request),
        WIRE_U64_MEMBER(broker_snapshot_made, frozen_us),
        WIRE_U64_MEMBER(broker_snapshot_made, took_us),
        WIRE_U32_MEMBER(broker_snapshot_made, depth),
        WIRE_TEXT_MEMBER(broker_snapshot_made, method, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_snapshot_made, because, TEXT_MAX_BYTES),
        WIRE_END,
};

const struct wire_member broker_ok_shape[] = {
        WIRE_U64_MEMBER(broker_ok, request),
        WIRE_END,
};

const struct wire_member broker_failed_shape[] = {
        WIRE_U64_MEMBER(broker_failed, request),
        WIRE_U32_MEMBER(broker_failed, code),
        WIRE_U32_MEMBER(broker_failed, sys_errno),
        WIRE_TEXT_MEMBER(broker_failed, text, TEXT_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_failed, hint, TEXT_MAX_BYTES),
        WIRE_END,
};

const struct wire_member broker_ended_shape[] = {
        WIRE_U64_MEMBER(broker_ended, request),
        WIRE_TEXT_MEMBER(broker_ended, sandbox, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_ended, reason),
        WIRE_U64_MEMBER(broker_ended, sent_bytes),
        WIRE_END,
};

const struct wire_member broker_volume_shape[] = {
        WIRE_U64_MEMBER(broker_volume, request),
        WIRE_U32_MEMBER(broker_volume, verb),
        WIRE_TEXT_MEMBER(broker_volume, volume, NAME_MAX_BYTES),
        WIRE_U64_MEMBER(broker_volume, size_bytes),
        WIRE_TEXT_MEMBER(broker_volume, sandbox, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_volume, mount, TEXT_MAX_BYTES),
        WIRE_U32_MEMBER(broker_volume, forced),
        WIRE_END,
};

const struct wire_member broker_measure_shape[] = {
        WIRE_U64_MEMBER(broker_measure, request),
        WIRE_U32_MEMBER(broker_measure, kind),
        WIRE_TEXT_MEMBER(broker_measure, id, NAME_MAX_BYTES),
        WIRE_END,
};

const struct wire_member broker_trash_shape[] = {
        WIRE_U64_MEMBER(broker_trash, request),
        WIRE_U32_MEMBER(broker_trash, verb),
        WIRE_U32_MEMBER(broker_trash, kind),
        WIRE_TEXT_MEMBER(broker_trash, id, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_trash, reason),
        WIRE_U64_MEMBER(broker_trash, keep_s),
        WIRE_U64_MEMBER(broker_trash, bytes_max),
        WIRE_U64_MEMBER(broker_trash, back_s),
        WIRE_END,
};

const struct wire_member broker_trash_entry_shape[] = {
        WIRE_U64_MEMBER(broker_trash_entry, request),
        WIRE_U32_MEMBER(broker_trash_entry, kind),
        WIRE_U32_MEMBER(broker_trash_entry, reason),
        WIRE_TEXT_MEMBER(broker_trash_entry, id, NAME_MAX_BYTES),
        WIRE_U64_MEMBER(broker_trash_entry, until_s),
        WIRE_U64_MEMBER(broker_trash_entry, bytes),
        WIRE_END,
};

const struct wire_member broker_disk_shape[] = {
        WIRE_U64_MEMBER(broker_disk, request),
        WIRE_TEXT_MEMBER(broker_disk, enforcement, NAME_MAX_BYTES),
        WIRE_U64_MEMBER(broker_disk, watched),
        WIRE_U64_MEMBER(broker_disk, over),
        WIRE_U64_MEMBER(broker_disk, paused_total),
        WIRE_U64_MEMBER(broker_disk, counts_total),
        WIRE_U64_MEMBER(broker_disk, counting_us_total),
        WIRE_END,
};

const struct wire_member broker_probe_shape[] = {
        WIRE_U64_MEMBER(broker_probe, request),
        WIRE_U32_MEMBER(broker_probe, kind),
        WIRE_U32_MEMBER(broker_probe, network),
        WIRE_TEXT_MEMBER(broker_probe, egress, BROKER_EGRESS_MAX),
        WIRE_END,
};

const struct wire_member broker_measured_shape[] = {
        WIRE_U64_MEMBER(broker_measured, request),
        WIRE_U64_MEMBER(broker_measured, bytes),
        WIRE_U32_MEMBER(broker_measured, is_partial),
        WIRE_END,
};

const struct wire_member broker_volume_state_shape[] = {
        WIRE_U64_MEMBER(broker_volume_state, request),
        WIRE_U32_MEMBER(broker_volume_state, size_is_advisory),
        WIRE_U64_MEMBER(broker_volume_state, used_bytes),
        WIRE_END,
};

const struct wire_member broker_pool_shape[] = {
        WIRE_U64_MEMBER(broker_pool, request),
        WIRE_TEXT_MEMBER(broker_pool, name, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_pool, template_name, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_pool, snapshot, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_pool, network),
        WIRE_U32_MEMBER(broker_pool, privileges),
        WIRE_U64_MEMBER(broker_pool, cpu_milli),
        WIRE_U64_MEMBER(broker_pool, memory_bytes),
        WIRE_U64_MEMBER(broker_pool, disk_bytes),
        WIRE_U64_MEMBER(broker_pool, pids),
        WIRE_U32_MEMBER(broker_pool, min),
        WIRE_U32_MEMBER(broker_pool, target),
        WIRE_U32_MEMBER(broker_pool, max),
        WIRE_TEXT_MEMBER(broker_pool, warm, NAME_MAX_BYTES),
        WIRE_BYTES_MEMBER(broker_pool, warm_wish, AGENT_WARM_WISH_MAX),
        WIRE_END,
};

const struct wire_member broker_pool_state_shape[] = {
        WIRE_U64_MEMBER(broker_pool_state, request),
        WIRE_TEXT_MEMBER(broker_pool_state, name, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_pool_state, template_name, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_pool_state, snapshot, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_pool_state, network),
        WIRE_U32_MEMBER(broker_pool_state, privileges),
        WIRE_U64_MEMBER(broker_pool_state, cpu_milli),
        WIRE_U64_MEMBER(broker_pool_state, memory_bytes),
        WIRE_U64_MEMBER(broker_pool_state, disk_bytes),
        WIRE_U64_MEMBER(broker_pool_state, pids),
        WIRE_U32_MEMBER(broker_pool_state, min),
        WIRE_U32_MEMBER(broker_pool_state, target),
        WIRE_U32_MEMBER(broker_pool_state, max),
        WIRE_U32_MEMBER(broker_pool_state, depth),
        WIRE_U32_MEMBER(broker_pool_state, ready),
        WIRE_U32_MEMBER(broker_pool_state, preparing),
        WIRE_U64_MEMBER(broker_pool_state, hits),
        WIRE_U64_MEMBER(broker_pool_state, misses),
        WIRE_TEXT_MEMBER(broker_pool_state, warm, NAME_MAX_BYTES),
        WIRE_U32_MEMBER(broker_pool_state, failed),
        WIRE_U32_MEMBER(broker_pool_state, code),
        WIRE_U32_MEMBER(broker_pool_state, sys_errno),
        WIRE_TEXT_MEMBER(broker_pool_state, text, TEXT_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_pool_state, hint, TEXT_MAX_BYTES),
        WIRE_END,
};

const struct wire_member broker_limit_shape[] = {
        WIRE_U64_MEMBER(broker_limit, request),
        WIRE_TEXT_MEMBER(broker_limit, sandbox, NAME_MAX_BYTES),
        WIRE_U64_MEMBER(broker_limit, cpu_milli),
        WIRE_U64_MEMBER(broker_limit, memory_bytes),
        WIRE_U64_MEMBER(broker_limit, pids),
        WIRE_END,
};

const struct wire_member broker_backup_shape[] = {
        WIRE_U64_MEMBER(broker_backup, request),
        WIRE_U32_MEMBER(broker_backup, verb),
        WIRE_TEXT_MEMBER(broker_backup, snapshot, NAME_MAX_BYTES),
        WIRE_TEXT_MEMBER(broker_backup, template_name, NAME_MAX_BYTES),
        WIRE_U64_MEMBER(broker_backup, size_max),
        WIRE_U32_MEMBER(broker_backup, full),
        WIRE_END,
};
