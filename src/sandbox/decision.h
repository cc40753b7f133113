/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/decision.h — network decisions: a connection of a sandbox that its rules allow, or
 * refuse.
 *
 * The gateway for host names reports its decisions as datagrams of this struct; the kernel reports
 * those about addresses. A report comes from a process that reads hostile bytes: decision_is_sound
 * checks it before it is used. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/id.h"
#include "sandbox/credential.h"
#include "sandbox/egress.h"

enum decision_verdict {
	DECISION_DENIED,
	DECISION_ALLOWED,
	DECISION_WATCHED, /* the rules refuse it, but the mode "watch" lets it through */
	DECISION_VERDICT_COUNT,
};
extern const char *const decision_verdicts[]; /* names, NULL-terminated */

/* Why, as programs read it. Names never change. */
enum decision_code {
	DECISION_OK,
	DECISION_HOST_NOT_ALLOWED,     /* no rule allows the name */
	DECISION_ADDRESS_DENIED,       /* a rule denies the address */
	DECISION_RANGE_REFUSED,        /* no sandbox may reach the address */
	DECISION_BAD_REQUEST,          /* the gateway finds no single host name in it */
	DECISION_LIMIT,                /* too many connections or questions at once */
	DECISION_UPSTREAM_UNREACHABLE, /* allowed, but the host does not answer */
	DECISION_RULE_DENIED,          /* a rule of credentials refuses the request */
	DECISION_HOST_MISMATCH,        /* the request names another host than the connection */
	DECISION_CREDENTIAL_EXPIRED,   /* the credential, or its rule, has expired */
	DECISION_UPSTREAM_UNTRUSTED,   /* the host's certificate is not trusted */
	DECISION_CLIENT_DISTRUSTS,     /* the program does not trust the sandbox's authority */
	DECISION_CREDENTIAL_HOST,      /* the rule names a credential of other hosts */
	DECISION_UPSTREAM_PROXY_UNREACHABLE, /* the server's proxy does not answer, or not HTTP */
	DECISION_UPSTREAM_PROXY_LOGIN,       /* the proxy wants another login */
	DECISION_UPSTREAM_PROXY_REFUSED,     /* the proxy refuses the connection */
	DECISION_SOURCE_ADDRESS, /* the host does not have the source address of the project */
	DECISION_DIRECT_REFUSED, /* the server has a proxy, which takes no such connection */
	DECISION_QUOTA,          /* a quota of sent bytes is used up; the rule says which */
	DECISION_CODE_COUNT,
};
extern const char *const decision_codes[];

enum decision_protocol {
	DECISION_TLS,
	DECISION_HTTP,
	DECISION_DNS,
	DECISION_TCP,
	DECISION_UDP,
	DECISION_OTHER,
	DECISION_PROTOCOL_COUNT,
};
extern const char *const decision_protocols[];

struct network_decision {
	char sandbox[ID_SIZE + 1];
	char host[SANDBOX_HOST_NAME_MAX + 1];     /* "" = not known */
	char rule[SANDBOX_HOST_NAME_MAX + 1];     /* the entry that decided, or the id of a
	                                           * rule of credentials, or the reason of a
	                                           * cut (sandbox/egress.h); "" = none */
	char credential[CREDENTIAL_NAME_MAX + 1]; /* that the request got, or was refused for;
	                                           * "" = none */
	uint32_t address;                         /* IPv4, host byte order; 0 = none */
	struct address6 address6;                 /* IPv6, instead; all zero = none */
	uint16_t port;                            /* 0 = none */
	uint8_t verdict, code, protocol;
	uint64_t count;               /* decisions; 0 = only bytes of an earlier one */
	uint64_t bytes_in, bytes_out; /* received and sent by the sandbox */
};
/* Whether all members are valid: enums in range, a sandbox's id, a host name or "", texts with an
 * end. */
bool decision_is_sound(const struct network_decision *d);
/* Sets the rule of a decision about an address, among the rules of this text. */
void decision_find_rule(struct network_decision *d, const char *egress);
/* Sets the code "quota", and the reason of the cut as the rule. */
void decision_set_cut(struct network_decision *d, struct span cut);
/* What rules would decide on a connection to this host name or address. ERROR_INVALID for what is
 * neither, and for a name under rules that decide by its address. */
MUST_CHECK int decision_predict(const char *egress, const char *host, uint16_t port,
                                struct network_decision *ret, struct error *err);
/* Whether the rules allow the connection, and something beyond the sandbox kept it from coming
 * about. */
bool decision_is_fault(uint8_t code);
/* Whether that was the proxy of the server (sandbox/upstream.h). */
bool decision_is_of_proxy(uint8_t code);
/* Whether both are about the same: everything equal but the numbers. */
bool decision_is_same(const struct network_decision *a, const struct network_decision *b);
/* The address as text; "" = none. decision_set_address accepts such a text, and returns false for
 * anything else. */
void decision_address(const struct network_decision *d, char out[ADDRESS6_TEXT_SIZE]);
bool decision_set_address(struct network_decision *d, const char *text);
/* "api.example.com:443", "203.0.113.7:22", "203.0.113.7" or "[2001:db8::7]:22". */
#define DECISION_TARGET_SIZE (SANDBOX_HOST_NAME_MAX + 8)
void decision_target(const struct network_decision *d, char out[DECISION_TARGET_SIZE]);
/* Adds why: "no rule allows it", "rule 203.0.113.0/24 denies it", … */
void decision_add_reason(struct buf *out, const struct network_decision *d);
/* Adds the line that a model reads at the end of a command's result, with a newline: "[network]
 * refused: api.example.com:443 (no rule allows it), 3 times. Ask with request_access, …". */
void decision_add_line(struct buf *out, const struct network_decision *d);
