/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column_rows.h"

/* The words are what the database holds: they may be added to, never changed. */
enum { volume_state_words = VOLUME_STATE_COUNT };

static const char *volume_state_word(unsigned value)
{
	return volume_state_name((enum volume_state)value);
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
