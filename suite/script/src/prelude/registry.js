// What a test file declares: tests, groups and hooks, in the order of declaration.

import { boolean, integer, isPlain, milliseconds, options } from 'muster:args';
import { MusterError, invalid } from 'muster:errors';
import { native } from 'muster:host';
import { state } from 'muster:state';

const collected = { root: group(null, '', {}), current: null, tests: [] };
collected.current = collected.root;

/** Thrown to end a body that skips itself. */
export class Skip {}

function group(parent, title, own) {
  return { parent, title, own, before: [], after: [] };
}

function refuse(message) {
  return new MusterError('COLLECTION_ERROR', message);
}

function loading(call) {
  if (state.phase !== 'load') {
    throw refuse(`${call} was called outside of a test file's own evaluation; declare tests at its top level or in describe()`);
  }
}

const OPTIONS = {
  timeout: milliseconds,
  retries: integer(0, 10),
  tags,
  skip: booleanOrReason,
  only: boolean,
  agent: agents,
};

const LATER = ['platforms', 'requires', 'session', 'agentContext', 'video', 'serial', 'sessions'];

function tags(value, what, refuse) {
  const sound = (tag) => typeof tag === 'string' && tag !== '' && tag === tag.trim() && !tag.includes(',');
  if (!Array.isArray(value) || !value.every(sound)) {
    throw refuse(`${what} takes a list of texts without commas or spaces at their ends`);
  }
  if (new Set(value).size !== value.length) throw refuse(`${what} names a tag twice`);
}

function booleanOrReason(value, what, refuse) {
  if (typeof value !== 'boolean' && typeof value !== 'string') throw refuse(`${what} takes true, false or a reason`);
}

function agents(value, what, refuse) {
  const names = [value].flat();
  if (names.length === 0 || !names.every((name) => typeof name === 'string' && name !== '')) {
    throw refuse(`${what} takes the name of an agent or a list of names`);
  }
  if (new Set(names).size !== names.length) throw refuse(`${what} names an agent twice`);
}

/** `(title, fn)` or `(title, options, fn)`. */
function declaration(call, args) {
  const [title, ...rest] = args;
  if (typeof title !== 'string') throw refuse(`${call} takes a title first`);
  const fn = rest.pop();
  if (typeof fn !== 'function' || rest.length > 1) throw refuse(`${call} takes a title, options if any, and a function`);
  if (rest.length === 1 && !isPlain(rest[0])) throw refuse(`options of ${call} must be an object`);
  return { title, own: options(rest[0], call, OPTIONS, LATER, refuse), fn };
}

export function declareTest(call, args, extra) {
  loading(call);
  const { title, own, fn } = declaration(call, args);
  const place = native.place(new Error().stack, state.file);
  collected.tests.push({ title, own: { ...own, ...extra }, fn, group: collected.current, place });
}

export function declareGroup(call, args, extra) {
  loading(call);
  const { title, own, fn } = declaration(call, args);
  const outer = collected.current;
  collected.current = group(outer, title, { ...own, ...extra });
  try {
    const result = fn();
    if (typeof result?.then === 'function') {
      Promise.resolve(result).catch(() => {});
      throw refuse(`the function of ${call} is async; describe() collects synchronously, await in tests and hooks`);
    }
  } finally {
    collected.current = outer;
  }
}

export function declareHook(call, list, args) {
  loading(call);
  if (args.length !== 1 || typeof args[0] !== 'function') throw refuse(`${call} takes one function`);
  collected.current[list].push({ call, fn: args[0], place: native.place(new Error().stack, state.file) });
}

export function notYet(call, instead) {
  throw refuse(`${call} is not available yet (UNSUPPORTED_CAPABILITY)${instead ? `; ${instead}` : ''}`);
}

/** `test.skip(condition, reason)` in a body. */
export function skipNow(args) {
  const [condition = true, reason = ''] = args;
  if (typeof condition === 'string' || typeof condition === 'function') {
    throw invalid('in a test, test.skip() takes a condition and a reason');
  }
  if (!condition) return;
  state.skipped = String(reason);
  throw new Skip();
}

function layers(test) {
  const groups = [];
  for (let group = test.group; group; group = group.parent) groups.unshift(group);
  return groups;
}

/** Every test as data, options merged: the innermost wins, tags add up, any layer skips. */
export function declared() {
  return collected.tests.map((test) => {
    const groups = layers(test);
    const owns = [...groups.map((group) => group.own), test.own];
    const innermost = (key) => owns.findLast((own) => own[key] !== undefined)?.[key];
    const skip = owns.map((own) => own.skip).find((skip) => skip !== undefined && skip !== false && skip !== '');
    return {
      titlePath: [...groups.slice(1).map((group) => group.title), test.title],
      place: test.place,
      tags: [...new Set(owns.flatMap((own) => own.tags ?? []))].sort(),
      timeoutMs: innermost('timeout'),
      retries: innermost('retries'),
      agents: [innermost('agent') ?? []].flat(),
      skip: skip === true ? '' : skip,
      only: owns.some((own) => own.only === true),
    };
  });
}

/** The test at `index` with its hooks in running order. */
export function runnable(index) {
  const test = collected.tests[index];
  const groups = layers(test);
  return {
    fn: test.fn,
    place: test.place,
    before: groups.flatMap((group) => group.before),
    after: groups.toReversed().flatMap((group) => group.after.toReversed()),
  };
}
