/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the bytes: an accepted number is within its bounds, and prints as its digits. */
#include <assert.h>
#include <inttypes.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span input = {(const char *)data, size};
	AUTO(buf_done) struct buf text = BUF(32);
	struct error err;
	int64_t value;

	if (span_parse_whole(input, 3, INT64_MAX, &value, &err) == 0) {
		assert(value >= 3);
		while (input.size > 1 && input.data[0] == '0') {
			input.data++;
			input.size--;
		}
		buf_addf(&text, "%" PRId64, value);
		assert(span_equals(buf_span(&text), input));
	}
	if (duration_parse((struct span){(const char *)data, size}, &value, &err) == 0)
		assert(value >= 0 && value <= INT64_C(36600) * 86400000);
	return 0;
}
