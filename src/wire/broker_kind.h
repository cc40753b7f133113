/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_kind.h — the two kinds of sandboxes that the broker makes. */
#pragma once

enum broker_kind {
	BROKER_NATIVE, /* isolated */
	BROKER_HOST,   /* processes of the host without isolation */
};
