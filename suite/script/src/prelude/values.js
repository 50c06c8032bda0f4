// Matchers on plain values: (actual, ...arguments) => { pass, want }, `want` a sentence's end.

import { invalid } from 'muster:errors';
import { contains, equals, matchesObject } from 'muster:equal';
import { inspect } from 'muster:inspect';

export const VALUE_MATCHERS = {
  toBe: (actual, want) => ({ pass: Object.is(actual, want), want: inspect(want) }),
  toEqual: (actual, want) => ({ pass: equals(actual, want), want: `equal to ${inspect(want)}` }),
  toMatchObject: (actual, want) => ({ pass: matchesObject(actual, want), want: `an object with ${inspect(want)}` }),
  toBeTruthy: (actual) => ({ pass: Boolean(actual), want: 'truthy' }),
  toBeFalsy: (actual) => ({ pass: !actual, want: 'falsy' }),
  toBeNull: (actual) => ({ pass: actual === null, want: 'null' }),
  toBeUndefined: (actual) => ({ pass: actual === undefined, want: 'undefined' }),
  toBeDefined: (actual) => ({ pass: actual !== undefined, want: 'defined' }),
  toHaveLength: (actual, length) => ({ pass: actual?.length === length, want: `of length ${length}` }),
  toHaveProperty(actual, path, ...value) {
    const found = property(actual, path);
    const pass = found.has && (value.length === 0 || equals(found.value, value[0]));
    return { pass, want: `with property ${inspect(path)}${value.length ? ` = ${inspect(value[0])}` : ''}` };
  },
  toContain(actual, item) {
    if (typeof actual === 'string') return { pass: actual.includes(text(item, 'toContain()')), want: `containing ${inspect(item)}` };
    if (typeof actual?.[Symbol.iterator] !== 'function') throw invalid('toContain() checks a text or a list');
    return { pass: [...actual].some((other) => Object.is(other, item) || asymmetricHit(other, item)), want: `containing ${inspect(item)}` };
  },
  toMatch(actual, pattern) {
    if (typeof actual !== 'string') throw invalid(`toMatch() checks a text, not ${inspect(actual)}`);
    const pass = pattern instanceof RegExp ? new RegExp(pattern).test(actual) : actual.includes(text(pattern, 'toMatch()'));
    return { pass, want: `matching ${inspect(pattern)}` };
  },
  toBeGreaterThan: (actual, than) => ({ pass: numbers(actual, than) && actual > than, want: `greater than ${than}` }),
  toBeGreaterThanOrEqual: (actual, than) => ({ pass: numbers(actual, than) && actual >= than, want: `${than} or greater` }),
  toBeLessThan: (actual, than) => ({ pass: numbers(actual, than) && actual < than, want: `less than ${than}` }),
  toBeLessThanOrEqual: (actual, than) => ({ pass: numbers(actual, than) && actual <= than, want: `${than} or less` }),
  toBeCloseTo(actual, near, digits = 2) {
    const pass = numbers(actual, near) && (actual === near || Math.abs(actual - near) < 10 ** -digits / 2);
    return { pass, want: `close to ${near} (${digits} digits)` };
  },
};

function asymmetricHit(actual, item) {
  return typeof item?.matches === 'function' && contains(actual, item);
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
