/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column_rows.h"
#include "store/egress.h"

const struct column columns_of_sandbox_egress_change[] = {
        TEXT_OF(sandbox_egress_change, id),
        TEXT_OF(sandbox_egress_change, egress),
        END,
};
