/* SPDX-License-Identifier: Apache-2.0 */
/* multipart/form-data in pieces of a size that the input's first byte chooses. */
#include "calls/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_part(void *context, const struct multipart_part *part, struct error *err)
{
	unsigned *sum = context;

	(void)err;
	for (size_t i = 0; i < part->name.size; i++)
		*sum += (unsigned char)part->name.data[i];
	for (size_t i = 0; i < part->file_name.size; i++)
		*sum += (unsigned char)part->file_name.data[i];
	return 0;
}

static int on_bytes(void *context, struct span bytes, struct error *err)
{
	unsigned *sum = context;

	(void)err;
	for (size_t i = 0; i < bytes.size; i++)
		*sum += (unsigned char)bytes.data[i];
	return 0;
}

static int on_part_end(void *context, struct error *err)
{
	(void)context;
	(void)err;
	return 0;
}

static const struct multipart_ops ops = {on_part, on_bytes, on_part_end};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct multipart m = {.ops = NULL};
	size_t piece = size > 0 && data[0] ? data[0] : 1;
	unsigned sum = 0;
	struct error err;
	int result = multipart_init(&m, "multipart/form-data; boundary=XX", &ops, &sum, &err);

	for (size_t at = 1; at < size && result == 0; at += piece) {
		size_t count = size - at < piece ? size - at : piece;

		result = multipart_add(&m, (struct span){(const char *)data + at, count}, &err);
	}
	if (result == 0)
		(void)!multipart_end(&m, &err);
	multipart_done(&m);
	return 0;
}
