/* SPDX-License-Identifier: Apache-2.0 */
/* egress/query.h — DNS messages (RFC 1035): questions of sandboxes, queries to nameservers, and
 * answers. Pure; questions are hostile. */
#pragma once

#include "base/bytes.h"
#include "sandbox/egress.h"

#define DNS_SIZE_MAX 1232   /* bytes of an answer, with or without EDNS */
#define DNS_ADDRESSES_MAX 8 /* used of one answer */
/* 192.0.0.8, the dummy address of RFC 7600: the answer for a name with IPv6 addresses only. */
#define DNS_PLACEHOLDER 0xc0000008u

enum dns_code { DNS_OK = 0, DNS_MALFORMED = 1, DNS_FAILED = 2, DNS_NO_NAME = 3, DNS_UNABLE = 4 };

struct dns_question {
	uint16_t id, kind;
	bool wants_recursion;
	char name[SANDBOX_HOST_NAME_MAX + 1];
	struct span text; /* the raw question, repeated in the answer; borrows the query */
};
/* A query with one question for a valid host name; false for everything else. */
bool dns_question_parse(struct span query, struct dns_question *ret);
bool dns_question_is_for_address(const struct dns_question *q);

struct dns_addresses {
	uint32_t items[DNS_ADDRESSES_MAX]; /* IPv4, host byte order */
	size_t count;
	uint32_t ttl_s;
	struct address6 items6[DNS_ADDRESSES_MAX]; /* of a name without IPv4 addresses */
	size_t count6;
};
/* Writes the answer with these addresses, or none. */
void dns_answer_write(struct buf *out, const struct dns_question *q, enum dns_code code,
                      const struct dns_addresses *addresses);

#define DNS_KIND_A 1
#define DNS_KIND_AAAA 28
/* Writes a query for the IPv4 or IPv6 addresses of the question's name, which is valid. */
void dns_query_write(struct buf *out, const struct dns_question *q);
/* Parses the answer to `asked`, whose kind is A or AAAA; false when it is not one. *ret_code is
 * DNS_OK when there are addresses. */
bool dns_answer_parse(struct span answer, const struct dns_question *asked, enum dns_code *ret_code,
                      struct dns_addresses *ret);
