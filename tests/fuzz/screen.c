/* SPDX-License-Identifier: Apache-2.0 */
/* Output of a program, as its screen, its marks and its text: the first byte chooses a size, the
 * screen is resized on the way, and what redraws it must not draw another text. */
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "terminal/plain.h"
#include "terminal/prompt.h"
#include "terminal/screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct span bytes)
{
	AUTO(buf_done) struct buf out = BUF((size_t)16 * 1024 * 1024);

	plain_write(&out, bytes);
	if (!out.overflowed && !span_is_utf8(buf_span(&out)))
		abort();
}

static void check_marks(struct span bytes)
{
	struct prompt_scanner marks = {.offset = 0};
	struct prompt_mark mark;
	uint64_t last = 0;

	while (prompt_scanner_next(&marks, &bytes, &mark)) {
		if (mark.start < last || mark.end <= mark.start)
			abort();
		last = mark.end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	struct span bytes = {(const char *)data, size};
	struct terminal_screen read;
	struct screen *s;

	if (size < 2)
		return 0;
	s = screen_new(1 + data[0] % 50, 1 + data[1] % 100, 0);
	screen_feed(s, (struct span){bytes.data, size / 2});
	screen_resize(s, 1 + data[1] % 50, 1 + data[0] % 100);
	screen_feed(s, (struct span){bytes.data + size / 2, size - size / 2});
	screen_read(s, &a, TERMINAL_TEXT, &read);
	if (!span_is_utf8(span_of(read.text)) || read.offset != size)
		abort();
	screen_read(s, &a, TERMINAL_ANSI, &read);
	screen_read(s, &a, TERMINAL_CELLS, &read);
	screen_free(s);
	check_text(bytes);
	check_marks(bytes);
	return 0;
}
