/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/repository.h"

#include "calls/files.h"
#include "edge/target.h"
#include "git/git.h"
#include "http/server/http.h"

int repository_locate(struct request *rq, struct api_target *target, const char *path,
                      struct git_at *ret, struct error *err)
{
	*ret = (struct git_at){
	        .hold = target->hold,
	        .user = target->user,
	        .env = target->env,
	        .deadline = rq->deadline,
	};
	return files_resolve(rq, target, path ? path : "", &ret->path, err);
}
