/* SPDX-License-Identifier: Apache-2.0 */
/* Names that callers and archives give: of templates, of images in registries, of a tar's entries.
 */
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "image/unpack.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* What was taken leads nowhere else. */
static void check_entry(const char *name)
{
	struct error err = {0};
	const char *taken = NULL;

	if (unpack_name_check(name, &taken, &err) < 0 || !taken)
		return;
	if (taken[0] == '/' || !taken[0] || strstr(taken, "/../") || !strncmp(taken, "../", 3) ||
	    !strcmp(taken, ".."))
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct error err = {0};
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (image_name_check(text, &err) == 0 && (strchr(text, '/') || text[0] == '.'))
		abort();
	if (image_reference_check(text, &err) == 0 && (text[0] == '-' || strpbrk(text, " \n;$")))
		abort();
	check_entry(text);
	free(text);
	return 0;
}
