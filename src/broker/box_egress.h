/* SPDX-License-Identifier: Apache-2.0 */
/* broker/box_egress.h — whom a sandbox may reach. Private to this folder. */
#pragma once

#include "broker/box.h"

/* From now on it reaches no more than it may: before anything of its owner's runs. */
MUST_CHECK int box_filter(struct box *box, struct error *err);
/* BROKER_EGRESS: other rules for one that runs, all at once. */
MUST_CHECK int boxes_filter(struct boxes *b, const char *id, const char *egress, struct error *err);
