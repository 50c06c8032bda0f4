// expect(): checks on locators and the browser poll on the other side of the pipe; checks on plain
// values happen here, at once.

import { integer, milliseconds, options, text } from 'muster:args';
import { BROWSER_MATCHERS, LOCATOR_MATCHERS } from 'muster:elements';
import { asymmetric } from 'muster:equal';
import { MusterError, here, invalid, toProblem, unsupported } from 'muster:errors';
import { Browser } from 'muster:fixtures';
import { native } from 'muster:host';
import { inspect } from 'muster:inspect';
import { Locator } from 'muster:locator';
import { state } from 'muster:state';
import { step } from 'muster:step';
import { sleep } from 'muster:timers';
import { VALUE_MATCHERS } from 'muster:values';

export function expect(actual) {
  return checks(actual, { negated: false, soft: false });
}

expect.soft = (actual) => checks(actual, { negated: false, soft: true });
expect.poll = poll;
Object.assign(expect, asymmetric);

const EVERY_MATCHER = [LOCATOR_MATCHERS, BROWSER_MATCHERS, VALUE_MATCHERS].flatMap(Object.keys);

function checks(actual, how) {
  if (actual instanceof Locator) {
    return remote('a locator', LOCATOR_MATCHERS, actual, how, (op) => ({ op: 'expectLocator', locator: actual, ...op }));
  }
  if (actual instanceof Browser) {
    return remote('the browser', BROWSER_MATCHERS, actual, how, (op) => ({ op: 'expectBrowser', ...op }));
  }
  if (actual instanceof Promise) throw invalid('expect() was given a promise; await it first');
  return local(actual, how);
}

/** An object with a method per matcher; those of other subjects say so. */
function subject(what, matchers, call, not) {
  const object = {};
  for (const name of EVERY_MATCHER) {
    object[name] = Object.hasOwn(matchers, name)
      ? (...args) => call(name, matchers[name], args)
      : () => {
          throw invalid(`${name}() doesn't check ${what}`);
        };
  }
  object.toHaveScreenshot = () => {
    throw unsupported('toHaveScreenshot()');
  };
  return Object.defineProperty(object, 'not', { get: not });
}

function remote(what, matchers, actual, how, toOp) {
  const call = async (name, matcher, args) => {
    const op = { ...matcher(name, args), negated: how.negated, soft: how.soft };
    try {
      await step(actual.scope, toOp(op));
    } catch (error) {
      if (!how.soft || !keepable(error)) throw error;
      state.soft.push(toProblem(error));
    }
  };
  return subject(what, matchers, call, () => remote(what, matchers, actual, { ...how, negated: !how.negated }, toOp));
}

/** A soft check keeps what the page got wrong; anything else still throws. */
function keepable(error) {
  return ['ASSERTION_FAILED', 'LOCATOR_NOT_FOUND', 'LOCATOR_AMBIGUOUS'].includes(error.code);
}

function local(actual, how) {
  const call = (name, matcher, args) => {
    const failure = judge(actual, name, matcher, args, how.negated);
    if (!failure) return;
    const error = new MusterError('ASSERTION_FAILED', failure.message, failure);
    if (!how.soft) throw error;
    // The parent knows of remote checks; of this one it must be told. Once will do.
    if (state.soft.length === 0) native.failed();
    state.soft.push(toProblem(error));
  };
  return subject('plain values', VALUE_MATCHERS, call, () => local(actual, { ...how, negated: !how.negated }));
}

/** What is wrong, or null. */
function judge(actual, name, matcher, args, negated) {
  const { pass, verb, want } = matcher(actual, ...args);
  if (pass !== negated) return null;
  const message = `expected ${inspect(actual)} ${negated ? 'not ' : ''}${verb} ${want}`;
  return { message, expected: negated ? `not ${want}` : want, actual: inspect(actual) };
}

function poll(read, given) {
  if (typeof read !== 'function') throw invalid('expect.poll() takes a function that reads a value');
  const known = { timeout: milliseconds, interval: integer(1, 60_000, 'milliseconds'), message: text };
  const opts = { timeout: 5000, interval: 100, ...options(given, 'expect.poll()', known, ['soft']) };
  return polled(read, opts, false);
}

function polled(read, opts, negated) {
  const call = async (name, matcher, args) => {
    const stack = here();
    const end = Date.now() + opts.timeout;
    for (;;) {
      const failure = await sample(read, end, (actual) => judge(actual, name, matcher, args, negated));
      if (!failure) return;
      if (Date.now() + opts.interval >= end) {
        const message = `${opts.message ? `${opts.message}: ` : ''}${failure.message} (after ${opts.timeout} ms)`;
        throw new MusterError('ASSERTION_FAILED', message, { ...failure, stack });
      }
      await sleep(opts.interval);
    }
  };
  return subject('plain values', VALUE_MATCHERS, call, () => polled(read, opts, !negated));
}

/** One reading; a throw or a hang is a failing one. */
async function sample(read, end, judge) {
  const late = sleep(Math.max(end - Date.now(), 0)).then(() => ({ message: 'the reading did not come' }));
  const reading = (async () => judge(await read()))();
  return Promise.race([reading.catch((error) => ({ message: toProblem(error).message })), late]);
}
