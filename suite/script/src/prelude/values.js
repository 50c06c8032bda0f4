// Matchers on plain values: (actual, ...arguments) => { pass, verb, want }, the words for people.

import { invalid } from 'muster:errors';
import { equals, matchesObject } from 'muster:equal';
import { inspect } from 'muster:inspect';

export const VALUE_MATCHERS = {
  toBe: (actual, want) => says(Object.is(actual, want), 'to be', inspect(want)),
  toEqual: (actual, want) => says(equals(actual, want), 'to equal', inspect(want)),
  toMatchObject: (actual, want) => says(matchesObject(actual, want), 'to match', inspect(want)),
  toBeTruthy: (actual) => says(Boolean(actual), 'to be', 'truthy'),
  toBeFalsy: (actual) => says(!actual, 'to be', 'falsy'),
  toBeNull: (actual) => says(actual === null, 'to be', 'null'),
  toBeUndefined: (actual) => says(actual === undefined, 'to be', 'undefined'),
  toBeDefined: (actual) => says(actual !== undefined, 'to be', 'defined'),
  toHaveLength: (actual, length) => says(actual?.length === length, 'to have length', inspect(length)),
  toHaveProperty(actual, path, ...value) {
    const found = property(actual, path);
    const pass = found.has && (value.length === 0 || equals(found.value, value[0]));
    return says(pass, 'to have property', `${inspect(path)}${value.length ? ` = ${inspect(value[0])}` : ''}`);
  },
  toContain(actual, item) {
    if (typeof actual === 'string') return says(actual.includes(text(item, 'toContain()')), 'to contain', inspect(item));
    if (typeof actual?.[Symbol.iterator] !== 'function') throw invalid('toContain() checks a text or a list');
    return says([...actual].some((other) => Object.is(other, item)), 'to contain', inspect(item));
  },
  toMatch(actual, pattern) {
    if (typeof actual !== 'string') throw invalid(`toMatch() checks a text, not ${inspect(actual)}`);
    const pass = pattern instanceof RegExp ? new RegExp(pattern).test(actual) : actual.includes(text(pattern, 'toMatch()'));
    return says(pass, 'to match', inspect(pattern));
  },
  toBeGreaterThan: (actual, than) => says(numbers(actual, than) && actual > than, 'to be', `greater than ${than}`),
  toBeGreaterThanOrEqual: (actual, than) => says(numbers(actual, than) && actual >= than, 'to be', `${than} or greater`),
  toBeLessThan: (actual, than) => says(numbers(actual, than) && actual < than, 'to be', `less than ${than}`),
  toBeLessThanOrEqual: (actual, than) => says(numbers(actual, than) && actual <= than, 'to be', `${than} or less`),
  toBeCloseTo(actual, near, digits = 2) {
    const pass = numbers(actual, near) && (actual === near || Math.abs(actual - near) < 10 ** -digits / 2);
    return says(pass, 'to be', `close to ${near} (within ${10 ** -digits / 2})`);
  },
};

function says(pass, verb, want) {
  return { pass, verb, want };
}

function numbers(...values) {
  for (const value of values) {
    if (typeof value !== 'number' && typeof value !== 'bigint') throw invalid(`${inspect(value)} is not a number to compare`);
  }
  return true;
}

function text(value, what) {
  if (typeof value !== 'string') throw invalid(`${what} takes a text`);
  return value;
}

function property(value, path) {
  const keys = Array.isArray(path) ? path : String(path).split('.');
  let at = value;
  for (const key of keys) {
    if (at === null || at === undefined || !(key in Object(at))) return { has: false };
    at = at[key];
  }
  return { has: true, value: at };
}
