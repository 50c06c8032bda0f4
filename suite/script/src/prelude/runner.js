// One attempt: beforeEach hooks and body in one scope, then every afterEach in a scope of its own.

import { toProblem } from 'muster:errors';
import { fixtures } from 'muster:fixtures';
import { native } from 'muster:host';
import { takeUnhandled } from 'muster:rejections';
import { Skip, runnable } from 'muster:registry';
import { state } from 'muster:state';
import { Scope, describeStep } from 'muster:step';
import { start, stop, stopTests, strayed } from 'muster:timers';

let active = null;
let inBody = false;

/** Runs the test at `index`; resolves with `{ outcome, secondary }`. */
export async function attempt(index, cleanupMs) {
  const test = runnable(index);
  const failures = await body(test);
  const skipped = state.skipped;
  native.bodyEnded(failures.length > 0);
  for (const hook of test.after) {
    const late = await cleanup(hook, cleanupMs);
    if (late.length > 0) native.failed();
    failures.push(...late);
  }
  if (skipped !== null && failures.every((failure) => failure.beside)) {
    return { outcome: { is: 'skipped', reason: skipped }, secondary: failures.map(({ problem }) => problem) };
  }
  const [first, ...secondary] = failures.map(({ problem }) => problem);
  return { outcome: first ? { is: 'failed', problem: first } : { is: 'passed' }, secondary };
}

/** The parent's clock ran out, or the interpreter's: gives up what runs. */
export function abandon(problem, hooksToo) {
  if (active && (inBody || hooksToo)) active.abandon(problem);
}

async function body(test) {
  const scope = new Scope();
  let hook = null;
  inBody = true;
  const end = await within(scope, async () => {
    const given = fixtures(scope);
    for (hook of test.before) await hook.fn(given);
    hook = null;
    await test.fn(given);
  });
  inBody = false;
  return endings(scope, end, hook, test.place);
}

async function cleanup(hook, limit) {
  const scope = new Scope();
  const timer = start(
    () => scope.abandon({ code: 'HOOK_FAILED', message: `${hook.call} took longer than ${limit} ms`, place: null }),
    limit,
    { own: true },
  );
  const end = await within(scope, async () => hook.fn(fixtures(scope)));
  stop(timer);
  return endings(scope, end, hook, hook.place);
}

/**
 * Settles with `{}`, `{ thrown }` or `{ abandoned }`. The work starts in a job of its own: when the
 * interpreter interrupts it, its callers within the same job would never go on.
 */
async function within(scope, work) {
  active = scope;
  const ended = Promise.resolve().then(work).then(
    () => ({}),
    (thrown) => ({ thrown }),
  );
  const end = await Promise.race([ended, scope.abandoned.then((problem) => ({ abandoned: problem }))]);
  active = null;
  if (end.abandoned) stopTests();
  return end;
}

/** Everything that went wrong in a scope, the most telling first; `beside` marks soft failures. */
function endings(scope, end, hook, fallback) {
  const failures = [];
  const push = (problem, beside = false) => failures.push({ problem: { ...problem, place: problem.place ?? fallback }, beside });
  const ofHook = hook ? [{ code: 'HOOK_FAILED', what: hook.call }] : [];
  const add = (problem, beside) => push({ ...problem, wraps: [...(problem.wraps ?? []), ...ofHook] }, beside);
  const ownSkip = state.skipped !== null && !end.abandoned;
  if (end.abandoned) push(end.abandoned);
  else if ('thrown' in end && !(end.thrown instanceof Skip) && !ownSkip) add(toProblem(end.thrown));
  if (state.soft.length > 0) add(joined(state.soft.splice(0)), true);
  const running = end.abandoned ? [] : scope.running();
  if (running.length > 0) {
    const steps = running.map(describeStep).join(', ');
    const message = `${running.length === 1 ? 'a step was' : `${running.length} steps were`} still running at the end (${steps}); await every step`;
    add({ code: 'STEP_NOT_AWAITED', message, place: running[0].place });
  }
  scope.forget();
  const seen = 'thrown' in end ? [end.thrown] : [];
  for (const reason of takeUnhandled()) {
    if (seen.includes(reason) || end.abandoned || reason instanceof Skip) continue;
    add({ ...toProblem(reason), wraps: [{ code: 'UNHANDLED_REJECTION', what: 'a promise was rejected and nobody looked' }] });
  }
  for (const problem of strayed.splice(0)) add({ ...problem, message: `a timer's callback threw: ${problem.message}` });
  return failures;
}

function joined(soft) {
  if (soft.length === 1) return soft[0].code === 'ASSERTION_FAILED' ? soft[0] : { ...soft[0], code: 'ASSERTION_FAILED' };
  const lines = soft.map(({ message, place }, index) => `${index + 1}. ${message}${place ? ` (${place.file}:${place.line})` : ''}`);
  return { code: 'ASSERTION_FAILED', message: `${soft.length} soft checks failed:\n${lines.join('\n')}`, place: soft[0].place };
}
