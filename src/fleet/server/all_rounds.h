/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/all_rounds.h — the periodic work of all folders, for the tick and the boot. */
#pragma once

#include "fleet/build/builds.h"
#include "fleet/core/template_waiters.h"
#include "fleet/lease/lease_parts.h"
#include "fleet/recovery/jump.h"
#include "fleet/recovery/notes.h"
#include "fleet/recovery/trash_parts.h"
#include "fleet/sandbox/artifacts.h"
#include "fleet/sandbox/egress.h"
#include "fleet/sandbox/egress_cuts.h"
#include "fleet/sandbox/settings.h"
#include "fleet/snapshot/snapshot.h"
#include "fleet/template/layers.h"
#include "fleet/template/templates.h"
#include "fleet/usage/meters.h"
#include "fleet/volume/browsers.h"
#include "fleet/volume/mounts.h"
