/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a Dockerfile, which clients of Daytona send to the server: what is translated is
 * JSON with steps, and what is refused has a text. */
#include "dockerfile/dockerfile.h"

#include <stdlib.h>

#include "json/json.h"

#define OUT_MAX ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct dockerfile *file)
{
	AUTO(buf_done) struct buf out = BUF(OUT_MAX), notes = BUF(OUT_MAX);
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *body;
	struct error err = {0};

	if (dockerfile_translate(&arena, file, &out, &notes, &err) < 0) {
		if (err.code == ERROR_NONE || !err.text[0])
			abort();
		return;
	}
	if (json_load(&arena, buf_span(&out), &body, &err) < 0 || !json_get(body, "steps") ||
	    (!json_get(body, "from") && !json_get(body, "image")))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const args[] = {"A=1", NULL};
	struct dockerfile file = {.name = "D", .text = {(const char *)data, size}};

	check(&file);
	file.has_no_files = true;
	check(&file);
	file.build_args = args;
	file.target = "0";
	check(&file);
	return 0;
}
