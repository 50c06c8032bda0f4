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
  state.secrets = secrets;
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
  attempt(index, cleanupMs).then((result) => native.finish(JSON.stringify(result)));
}

export function abandon(problem, hooksToo) {
  giveUp(JSON.parse(problem), hooksToo);
}
