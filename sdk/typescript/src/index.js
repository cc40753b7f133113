// SPDX-License-Identifier: Apache-2.0
export { Atoll } from './client.js';
export { CommandHandle } from './commands.js';
export {
  AtollError,
  BudgetError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InvalidRequestError,
  LimitError,
  NotFoundError,
  SandboxNotFoundError,
  TimeoutError,
  UnauthenticatedError,
  UnavailableError,
  UnsupportedError,
} from './errors.js';
export { Sandbox } from './sandbox.js';
export { withSandbox } from './leases.js';
