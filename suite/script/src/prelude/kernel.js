// What the worker calls.

import 'muster:ambient';
import 'muster';
import { toProblem } from 'muster:errors';
import { native } from 'muster:host';
import { declared } from 'muster:registry';
import { abandon as giveUp, attempt } from 'muster:runner';
import { state } from 'muster:state';

export { connect } from 'muster:host';
export { track } from 'muster:rejections';
export { reply } from 'muster:step';
export { fire } from 'muster:timers';

/** Evaluates a test file; finishes with `{ tests }` or `{ problem }`. */
export function load(file, secrets) {
  state.phase = 'load';
  state.file = file;
  state.secrets = secrets ?? null;
  import(file).then(
    () => {
      state.phase = 'idle';
      native.finish(JSON.stringify({ tests: declared() }));
    },
    (error) => {
      state.phase = 'idle';
      native.finish(JSON.stringify({ problem: toProblem(error) }));
    },
  );
}

/** Runs the test at `index` of the loaded file; finishes with `{ outcome, secondary }`. */
export function run(index, baseUrl, cleanupMs) {
  state.phase = 'run';
  state.baseUrl = baseUrl;
  attempt(index, cleanupMs)
    .catch((error) => ({ outcome: { is: 'failed', problem: toProblem(error) }, secondary: [] }))
    .then((result) => native.finish(JSON.stringify(result)));
}

/** Gives up: the file that loads, the body, or with `hooksToo` whatever runs. */
export function abandon(json, hooksToo) {
  const problem = JSON.parse(json);
  if (state.phase === 'load') native.finish(JSON.stringify({ problem }));
  else giveUp(problem, hooksToo);
}
