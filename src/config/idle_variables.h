/* SPDX-License-Identifier: Apache-2.0 */
/* config/idle_variables.h — variables of the environment that other software of this kind reads and
 * that have no effect here. */
#pragma once

struct config_idle_variable {
	const char *name, *because;
};
/* The set variables in turn: the first behind `after`, which is NULL at the beginning. NULL when
 * there is none. An empty variable counts as not set. */
const struct config_idle_variable *
config_idle_variable_next(char *const *environment, const struct config_idle_variable *after);
