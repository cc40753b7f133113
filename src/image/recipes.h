/* SPDX-License-Identifier: Apache-2.0 */
/* image/recipes.h — the contents of the default templates that are built. */
#pragma once

struct image_recipe {
	const char *name;
	const char *from; /* recipe whose root filesystem is the start; NULL: mmdebstrap makes it */
	const char *packages; /* of Debian, separated by spaces */
	const char *npm;      /* packages of npm, likewise; NULL = none */
};
/* NULL: there is no such recipe. */
const struct image_recipe *image_recipe_find(const char *name);
