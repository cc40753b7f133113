/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/text.h"

#include <sodium.h>
#include <string.h>

#include "json/write.h"

void text_write_base64(struct buf *out, struct span bytes)
{
	size_t room = sodium_base64_encoded_len(bytes.size, sodium_base64_VARIANT_ORIGINAL);
	char *at = buf_reserve(out, room);

	if (!at)
		return;
	sodium_bin2base64(at, room, (const unsigned char *)bytes.data, bytes.size,
	                  sodium_base64_VARIANT_ORIGINAL);
	buf_commit(out, room - 1); /* without its NUL */
}

int text_read_base64(struct arena *a, const char *base64, const char **ret, struct error *err)
{
	size_t size = strlen(base64), got;
	char *bytes = arena_alloc(a, size + 1);

	if (sodium_base642bin((unsigned char *)bytes, size, base64, size, NULL, &got, NULL,
	                      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    memchr(bytes, '\0', got))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not base64 of a text", base64);
	bytes[got] = '\0';
	*ret = bytes;
	return 0;
}

int text_read_bytes(struct arena *a, struct span base64, struct span *ret, struct error *err)
{
	static const int forms[] = {
	        sodium_base64_VARIANT_ORIGINAL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
	        sodium_base64_VARIANT_URLSAFE, sodium_base64_VARIANT_URLSAFE_NO_PADDING};
	char *bytes = arena_alloc(a, base64.size + 1);
	size_t got;

	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		if (sodium_base642bin((unsigned char *)bytes, base64.size + 1, base64.data,
		                      base64.size, NULL, &got, NULL, forms[i]) != 0)
			continue;
		*ret = (struct span){bytes, got};
		return 0;
	}
	return FAIL(err, ERROR_INVALID, "these bytes are not base64");
}

void text_write(struct buf *out, const char *name, const char *encoding_name, struct span bytes)
{
	if (span_is_utf8(bytes) && span_find(bytes, '\0') < 0) {
		json_add_span(out, name, bytes);
		return;
	}
	json_add_bytes(out, name, bytes);
	json_add_text(out, encoding_name, "base64");
}
