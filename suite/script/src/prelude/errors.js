// What is thrown into tests, and how anything thrown becomes a problem.

import { native } from 'muster:host';
import { inspect } from 'muster:inspect';

const PLACE = Symbol('place');

/** A failure with a stable code. */
export class MusterError extends Error {
  constructor(code, message, details = {}) {
    super(message);
    this.name = 'MusterError';
    this.code = code;
    this.status = details.blocked ? 'blocked' : 'failed';
    this.blocked = Boolean(details.blocked);
    this.explanation = message;
    if (details.expected != null) this.expected = details.expected;
    if (details.actual != null) this.actual = details.actual;
    if (details.near?.length) this.near = details.near;
    hide(this, PLACE, details.place ?? null);
    if (details.stack) hide(this, 'stack', details.stack);
  }
}

function hide(object, key, value) {
  Object.defineProperty(object, key, { value, writable: true, configurable: true, enumerable: false });
}

/** The stack of whoever calls, for a failure that comes later. */
export function here() {
  return new Error().stack;
}

/** From a problem as the other side of the pipe spells it. */
export function fromProblem(problem, blocked = false) {
  return new MusterError(problem.code, problem.message, { ...problem, blocked });
}

export function invalid(message) {
  return new MusterError('INVALID_ARGUMENT', message);
}

export function unsupported(what, instead) {
  return new MusterError('UNSUPPORTED_CAPABILITY', `${what} is not available yet${instead ? `; ${instead}` : ''}`);
}

/** A problem without its place being looked up twice. */
export function toProblem(thrown) {
  if (thrown instanceof MusterError) {
    const { code, message, expected, actual, near } = thrown;
    return { code, message, expected, actual, near, place: thrown[PLACE] ?? native.place(thrown.stack) };
  }
  if (thrown instanceof Error) {
    const limit = engineLimit(thrown);
    const place = native.place(String(thrown.stack));
    return limit ? { ...limit, place } : { code: 'ERROR', message: `${thrown.name}: ${thrown.message}`, place };
  }
  // All that the interpreter can throw when not even an error fits into its memory.
  const hint = thrown === null ? `; or ${native.memoryMessage()}` : '';
  return { code: 'ERROR', message: `the test threw ${inspect(thrown)}, which is not an Error${hint}`, place: null };
}

/** The interpreter's own limits, in words of ours. Of the time limit only a module's evaluation tells. */
function engineLimit(error) {
  if (error.name !== 'InternalError') return null;
  if (error.message === 'out of memory') return { code: 'ERROR', message: native.memoryMessage() };
  return error.message === 'interrupted' ? { code: 'TEST_TIMEOUT', message: native.sliceMessage() } : null;
}
