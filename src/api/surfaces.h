/* SPDX-License-Identifier: Apache-2.0 */
/* api/surfaces.h — the API dialects of this server, opened and closed together. */
#pragma once

struct api;

void surfaces_open(struct api *api);
/* Ends the surfaces' work behind their handlers: recordings. */
void surfaces_stop(struct api *api);
void surfaces_close(struct api *api);
