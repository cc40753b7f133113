/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "provider/remote/parts.h"

#define DEFAULT_FOLDER "host" /* of the template that needs no build */

int remote_image_of(const struct remote *r, struct arena *a, const char *folder, const char **ret,
                    struct error *err)
{
	struct span rest = span_of(r->own->images), pair, name;

	if (strcmp(folder, DEFAULT_FOLDER) == 0) {
		*ret = r->own->image;
		return 0;
	}
	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &pair);
		if (span_split(&pair, '=', &name) && span_equals_text(name, folder)) {
			*ret = arena_copy(a, pair);
			return 0;
		}
	}
	(void)FAIL(err, ERROR_UNSUPPORTED, "provider '%s' has no image of template '%s'", r->name,
	           folder);
	return FAIL_HINT(err,
	                 "create from template 'host', or name an image of %s for this "
	                 "template in the provider's options",
	                 r->kind->title);
}
