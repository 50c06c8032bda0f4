// Steps: an operation goes out, a promise waits for its answer. Each belongs to a scope (a test's
// body with its beforeEach hooks, or one afterEach), which can be abandoned as a whole.

import { MusterError, fromProblem, here } from 'muster:errors';
import { native } from 'muster:host';

const waiting = new Map();

/** What can be abandoned: its running steps fail, later ones are refused. */
export class Scope {
  #problem = null;
  #onAbandon = null;
  /** Settles when the scope is abandoned, with the problem. */
  abandoned = new Promise((resolve) => {
    this.#onAbandon = resolve;
  });

  get problem() {
    return this.#problem;
  }

  abandon(problem) {
    if (this.#problem) return;
    const steps = this.running();
    // Whoever waited longest is where the time went.
    this.#problem = problem.place || steps.length === 0 ? problem : { ...problem, place: steps[0].place };
    for (const step of steps) {
      waiting.delete(step.id);
      step.reject(fromProblem({ ...problem, place: step.place }));
    }
    this.#onAbandon(this.#problem);
  }

  /** Steps without an answer, oldest first. */
  running() {
    return [...waiting.values()].filter((step) => step.scope === this);
  }

  /** Forgets them; their answers go nowhere. */
  forget() {
    for (const step of this.running()) waiting.delete(step.id);
  }
}

/** Does one operation. */
export function step(scope, op) {
  const stack = here();
  if (scope.problem) {
    return Promise.reject(fromProblem({ ...scope.problem, place: native.place(stack) }));
  }
  const json = JSON.stringify(op, (_, value) => (typeof value === 'string' ? value.toWellFormed() : value));
  const place = native.place(stack);
  let id;
  try {
    id = native.send(json, place);
  } catch (error) {
    return Promise.reject(new MusterError('INVALID_ARGUMENT', error.message, { place }));
  }
  return new Promise((resolve, reject) => {
    waiting.set(id, { id, op, scope, place, resolve, reject });
  });
}

/** The answer to a step; called by the worker. */
export function reply(id, json) {
  const step = waiting.get(id);
  if (!step) return;
  waiting.delete(id);
  const result = JSON.parse(json);
  if (result.is === 'ok') step.resolve(result.value);
  else step.reject(fromProblem({ ...result.problem, place: result.problem.place ?? step.place }, result.blocked));
}

/** One line for people. */
export function describeStep({ op }) {
  return op.op === 'act' ? `locator ${op.gesture.do}` : op.op;
}
