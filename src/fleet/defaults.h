/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/defaults.h — what commands inherit, worked out from template and row. */
#pragma once

#include "fleet/hold.h"

struct template_record;

MUST_CHECK int defaults_compute(const struct fleet *f, struct arena *a,
                                const struct sandbox_record *r, const struct template_record *t,
                                struct fleet_defaults *ret, struct error *err);
