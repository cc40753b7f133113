/* SPDX-License-Identifier: Apache-2.0 */
#include "config/suggest.h"

#include "base/nearest.h"
#include "config/option.h"

const char *suggest_option(struct span name)
{
	struct nearest nearest = {.name = name};

	for (const struct config_option *o = config_options; o->name; o++)
		nearest_offer(&nearest, o->name);
	return nearest.found;
}
