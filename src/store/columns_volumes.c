/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column_rows.h"

/* The words are what the database holds: they may be added to, never changed. */
enum {
	volume_state_words = VOLUME_STATE_COUNT,
	mount_state_words = MOUNT_STATE_COUNT,
	sandbox_state_words = SANDBOX_STATE_COUNT,
};

static const char *volume_state_word(unsigned value)
{
	return volume_state_name((enum volume_state)value);
}

static const char *mount_state_word(unsigned value)
{
	return mount_state_name((enum mount_state)value);
}

static const char *sandbox_state_word(unsigned value)
{
	return sandbox_state_name((enum sandbox_state)value);
}

const struct column columns_of_volume_record[] = {
        TEXT_OF(volume_record, id),
        TEXT_OF(volume_record, project_id),
        TEXT_OF(volume_record, name),
        TEXT_OF(volume_record, provider),
        TEXT_OF(volume_record, node),
        WHOLE_OF(volume_record, size_mb),
        BOOL_OF(volume_record, size_is_advisory),
        CHOICE_OF(volume_record, state, volume_state),
        WHOLE_OF(volume_record, created_at),
        WHOLE_OF(volume_record, updated_at),
        WHOLE_OF(volume_record, version),
        END,
};

const struct column columns_of_volume_move[] = {
        TEXT_OF(volume_move, id),
        CHOICE_OF(volume_move, from, volume_state),
        CHOICE_OF(volume_move, to, volume_state),
        BOOL_OF(volume_move, size_is_advisory),
        WHOLE_OF(volume_move, size_mb),
        WHOLE_OF(volume_move, now),
        END,
};

const struct column columns_of_mount_record[] = {
        TEXT_OF(mount_record, sandbox_id),
        TEXT_OF(mount_record, volume_id),
        TEXT_OF(mount_record, path),
        TEXT_OF(mount_record, subpath),
        BOOL_OF(mount_record, is_read_only),
        CHOICE_OF(mount_record, state, mount_state),
        WHOLE_OF(mount_record, created_at),
        TEXT_OF(mount_record, volume_name),
        TEXT_OF(mount_record, sandbox_name),
        CHOICE_OF(mount_record, sandbox_state, sandbox_state),
        END,
};

const struct column columns_of_mount_move[] = {
        TEXT_OF(mount_move, sandbox_id),
        TEXT_OF(mount_move, volume_id),
        CHOICE_OF(mount_move, from, mount_state),
        CHOICE_OF(mount_move, to, mount_state),
        END,
};
