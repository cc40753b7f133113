/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for somebody: keys, links to previews, signed addresses, tickets. The first byte says
 * where a good one is changed and the second one how; the rest is taken for one as it is. Nothing
 * but what was given out, as it was given out and in its time, opens anything. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "account/account.h"
#include "config/config.h"
#include "edge/tickets.h"
#include "fleet/core/fleet_state.h"
#include "fleet/sandbox/preview.h"
#include "surface/envd/access.h"
#include "store/sandbox_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW INT64_C(1700000000000)
#define TOKEN "0123456789abcdef"

/* Whether there was anything to change. */
static bool changes(char *text, size_t size, const uint8_t *data)
{
	size_t at = data[0] % (size - 1);

	text[at] = (char)(text[at] ^ data[1]);
	return data[1] != 0;
}

static void try_grants(const uint8_t *data, struct span text)
{
	struct config config = {.preview_sharing = true,
	                        .preview_secret = "a secret of the fuzzer"};
	struct fleet fleet = {.config = &config};
	const struct sandbox_record r = {
	        .id = "abcdefghij2345abcdef", .preview_public = true, .preview_generation = 3};
	struct fleet_grant grant = {.port = 8000,
	                            .is_shared = data[0] & 1,
	                            .maker = {.hash = {data[0], data[1]}, .is_login = data[0] & 2},
	                            .expires_at = NOW + 5000};
	char made[FLEET_GRANT_TEXT_MAX] = "";
	struct fleet_grant read;
	struct error err;

	assert(fleet_grant_make(&fleet, &r, &grant, made, &err) == 0);
	assert(fleet_grant_read(&fleet, span_of(made), NOW, &read, &err) == 0);
	assert(fleet_grant_check(&read, &r, &err) == 0 && read.port == 8000);
	assert(read.is_shared == grant.is_shared);
	if (!read.is_shared)
		assert(read.maker.is_login == grant.maker.is_login &&
		       account_hash_equals(read.maker.hash, grant.maker.hash));
	assert(fleet_grant_read(&fleet, span_of(made), NOW + 5000, &read, &err) < 0);
	assert(fleet_grant_read(&fleet, text, NOW, &read, &err) < 0);
	if (changes(made, strlen(made), data))
		assert(fleet_grant_read(&fleet, span_of(made), NOW, &read, &err) < 0);
}

static void try_signatures(const uint8_t *data, struct span text)
{
	const struct signed_file file = {"/a", "read", "user", "1700000000"};
	struct signed_file other = file;
	char made[SIGNATURE_SIZE];
	struct error err;

	signature_make(&file, TOKEN, made);
	assert(signature_matches(&file, TOKEN, span_of(made)));
	assert(!signature_matches(&file, "0123456789abcdeg", span_of(made)));
	assert(!signature_matches(&file, TOKEN, text));
	assert(signature_check_time(&file, 1700000001, &err) < 0);
	other.operation = "write";
	assert(!signature_matches(&other, TOKEN, span_of(made)));
	if (changes(made, strlen(made), data))
		assert(!signature_matches(&file, TOKEN, span_of(made)));
}

static void try_tickets(const uint8_t *data, struct span text)
{
	struct api_tickets *tickets = api_tickets_new();
	struct api_ticket ticket = {.path = "/a"}, taken;
	char made[API_TICKET_SIZE + 1];

	api_tickets_issue(tickets, &ticket, 0, made);
	assert(!api_tickets_redeem(tickets, text, "/a", 1, &taken));
	if (changes(made, strlen(made), data))
		assert(!api_tickets_redeem(tickets, span_of(made), "/a", 1, &taken));
	else
		assert(api_tickets_redeem(tickets, span_of(made), "/a", 1, &taken));
	assert(!api_tickets_redeem(tickets, span_of(made), "/a", 1, &taken));
	api_tickets_free(tickets);
}

static void try_keys(struct span text)
{
	struct account_key key;
	struct error err;

	if (account_key_parse(text, &key, &err) == 0)
		assert(!memchr(text.data, '\0', text.size) && span_is_utf8(text));
	else
		assert(err.code == ERROR_UNAUTHENTICATED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text;

	if (size < 2)
		return 0;
	text = (struct span){(const char *)data + 2, size - 2};
	try_grants(data, text);
	try_signatures(data, text);
	try_tickets(data, text);
	try_keys(text);
	return 0;
}
