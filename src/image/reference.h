/* SPDX-License-Identifier: Apache-2.0 */
/* image/reference.h — what a reference that was checked says. Private to image/. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

/* With its port; that of Docker's own registry when the reference names none. */
struct span reference_host(const char *reference);
/* A registry on this machine itself, as tests have one: it may speak plain HTTP. */
bool reference_is_loopback(const char *reference);
