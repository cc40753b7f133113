/* SPDX-License-Identifier: Apache-2.0 */
/* launch/shared.h — the mounts that sandboxes share (enum launch_layer). */
#pragma once

#include "wire/launch.h"

#define LAUNCH_LAYERS_PATH "run/layers" /* below the data folder */

/* Its name in that folder. */
const char *shared_layer_name(unsigned layer);
/* How a clone of it maps ids. */
enum launch_map shared_layer_map(unsigned layer);
