/* SPDX-License-Identifier: Apache-2.0 */
/* config/check.h — what the values of text options must look like. Private to this folder. */
#pragma once

#include "base/attribute.h"
#include "base/error.h"

/* "127.0.0.1:7777", "[::1]:0" or "unix:/path". */
MUST_CHECK int check_listen(const char *value, struct error *err);
/* "0.0.0.0:443"; may be empty. */
MUST_CHECK int check_tls_listen(const char *value, struct error *err);
/* An IPv4 network with room for sandboxes: "10.213.0.0/16", no bits set after the prefix. */
MUST_CHECK int check_subnet(const char *value, struct error *err);
/* Networks with commas between, IPv4 or IPv6; may be empty. */
MUST_CHECK int check_networks(const char *value, struct error *err);
/* One to three IPv4 addresses with commas between; may be empty. */
MUST_CHECK int check_nameservers(const char *value, struct error *err);
/* The address of a database that the store knows; may be empty. */
MUST_CHECK int check_store(const char *value, struct error *err);
/* As config_callback_parse wants it; may be empty. */
MUST_CHECK int check_callback(const char *value, struct error *err);
/* As config_peer_parse wants it; may be empty. */
MUST_CHECK int check_peer(const char *value, struct error *err);
/* Of "off", "on" and "rules", with commas between. */
MUST_CHECK int check_ready_networks(const char *value, struct error *err);
/* Names of hosts with commas, or "*"; may be empty. */
MUST_CHECK int check_hosts(const char *value, struct error *err);
/* A name with a dot or "localhost", and perhaps a port; may be empty. */
MUST_CHECK int check_domain(const char *value, struct error *err);
/* "http://host:80" or "https://host"; may be empty. */
MUST_CHECK int check_origin(const char *value, struct error *err);
/* The same with commas between, or "*"; may be empty. */
MUST_CHECK int check_origins(const char *value, struct error *err);
/* Ports and ranges with commas, or "any". */
MUST_CHECK int check_ports(const char *value, struct error *err);
/* Empty, or long enough to sign with. */
MUST_CHECK int check_secret(const char *value, struct error *err);
/* A short word that is safe in paths and labels. */
MUST_CHECK int check_name(const char *value, struct error *err);
