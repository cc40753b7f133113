/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column_rows.h"
#include "store/folders.h"

const struct column columns_of_folder_record[] = {
        TEXT_OF(folder_record, node),        TEXT_OF(folder_record, pairing),
        WHOLE_OF(folder_record, generation), TEXT_OF(folder_record, instance),
        TEXT_OF(folder_record, boot),        TEXT_OF(folder_record, place),
        WHOLE_OF(folder_record, seen_at),    END,
};
