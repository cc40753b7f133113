/* SPDX-License-Identifier: Apache-2.0 */
/* Output that somebody else recorded: what comes out is the same however it is cut, draws, and asks
 * the terminal nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/harmless.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct span out)
{
	for (size_t i = 0; i < out.size; i++) {
		unsigned char c = (unsigned char)out.data[i], next = 0;

		if (i + 1 < out.size)
			next = (unsigned char)out.data[i + 1];
		if (c == 0x05 || (c == 0xc2 && next >= 0x80 && next < 0xa0))
			abort();
		if (c == '\033' && (!next || !strchr("[78DEHMc>()*+", next)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct harmless whole = {HARMLESS_TEXT}, single = {HARMLESS_TEXT};
	AUTO(buf_done) struct buf a = BUF(4 * size + 256), b = BUF(4 * size + 256);
	struct span in = {(const char *)data, size};

	harmless_take(&whole, in, &a);
	for (size_t i = 0; i < size; i++)
		harmless_take(&single, (struct span){in.data + i, 1}, &b);
	if (a.overflowed || !span_equals(buf_span(&a), buf_span(&b)))
		abort();
	check(buf_span(&a));
	return 0;
}
