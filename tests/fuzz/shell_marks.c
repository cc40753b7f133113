/* SPDX-License-Identifier: Apache-2.0 */
/* One stream of a console in pieces of a size that the input's first byte chooses. */
#include "shell/marks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_bytes(void *context, struct span bytes)
{
	*(size_t *)context += bytes.size;
}

static void on_mark(void *context, const struct shell_mark *mark)
{
	*(size_t *)context += mark->text.size + strlen(mark->id) + (size_t)mark->exit_code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct shell_marks_ops ops = {on_bytes, on_mark};
	size_t piece = size > 0 && data[0] ? data[0] : 1, sum = 0;
	struct shell_marks m;

	shell_marks_init(&m, &ops, &sum);
	for (size_t at = 1; at < size; at += piece) {
		size_t count = size - at < piece ? size - at : piece;

		shell_marks_add(&m, (struct span){(const char *)data + at, count});
	}
	shell_marks_end(&m);
	shell_marks_done(&m);
	return 0;
}
