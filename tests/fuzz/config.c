/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/bytes.h"
#include "config/config.h"
#include "config/file.h"
#include "config/option.h"
#include "config/suggest.h"
#include "config/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_line(struct arena *arena, const struct file_line *line)
{
	struct config config = {0};
	struct error err;

	(void)suggest_option(span_of(line->name));
	for (const struct config_option *o = config_options; o->name; o++) {
		AUTO(buf_done) struct buf out = BUF(1 << 20);

		if (value_set(arena, o, line->value, &config, &err) == 0)
			value_write(&out, o, &config);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = {0};
	struct span text = {(const char *)data, size};
	struct file_lines lines;
	struct error err;

	if (file_parse(&arena, "atoll.yaml", text, &lines, &err) < 0)
		return 0;
	for (size_t i = 0; i < lines.count; i++)
		set_line(&arena, &lines.lines[i]);
	return 0;
}
