// Equality of values, and matchers that stand inside them.

import { invalid } from 'muster:errors';
import { inspect } from 'muster:inspect';

/** A matcher in a value's place. */
class Asymmetric {
  constructor(name, shown, matches) {
    this.name = name;
    this.shown = shown;
    this.matches = matches;
    Object.freeze(this);
  }

  inspected() {
    return `${this.name}(${this.shown})`;
  }
}

export const asymmetric = {
  any(type) {
    if (typeof type !== 'function') throw invalid('expect.any() takes a constructor such as String');
    const primitives = new Map([
      [String, 'string'],
      [Number, 'number'],
      [Boolean, 'boolean'],
      [BigInt, 'bigint'],
      [Symbol, 'symbol'],
      [Function, 'function'],
    ]);
    const matches = (value) => typeof value === primitives.get(type) || value instanceof type;
    return new Asymmetric('any', type.name, matches);
  },
  anything: () => new Asymmetric('anything', '', (value) => value !== null && value !== undefined),
  objectContaining: (part) => new Asymmetric('objectContaining', inspect(part), (value) => contains(value, part)),
  arrayContaining: (items) =>
    new Asymmetric('arrayContaining', inspect(items), (value) => {
      return Array.isArray(value) && items.every((item) => value.some((candidate) => equals(candidate, item)));
    }),
  stringContaining: (part) =>
    new Asymmetric('stringContaining', inspect(part), (value) => typeof value === 'string' && value.includes(part)),
  stringMatching: (pattern) =>
    new Asymmetric('stringMatching', inspect(pattern), (value) => {
      return typeof value === 'string' && new RegExp(pattern).test(value);
    }),
};

/** Deep equality; properties that are undefined count as absent. */
export function equals(actual, expected, seen = new Map()) {
  if (expected instanceof Asymmetric) return expected.matches(actual);
  if (Object.is(actual, expected)) return true;
  if (!isObject(actual) || !isObject(expected)) return false;
  if (seen.get(actual) === expected) return true;
  seen.set(actual, expected);
  if (kind(actual) !== kind(expected)) return false;
  switch (kind(actual)) {
    case 'date':
      return Object.is(actual.getTime(), expected.getTime());
    case 'regexp':
      return String(actual) === String(expected);
    case 'error':
      return actual.name === expected.name && actual.message === expected.message;
    case 'list':
      return actual.length === expected.length && expected.every((item, index) => equals(actual[index], item, seen));
    case 'map':
      return (
        actual.size === expected.size &&
        [...expected].every(([key, item]) => actual.has(key) && equals(actual.get(key), item, seen))
      );
    case 'set':
      return (
        actual.size === expected.size &&
        [...expected].every((item) => actual.has(item) || [...actual].some((other) => equals(other, item, seen)))
      );
    default:
      return defined(actual).length === defined(expected).length && contains(actual, expected, seen);
  }
}

/** Whether every property of `part` equals the value's; lists compare whole. */
export function contains(value, part, seen = new Map()) {
  if (!isObject(value) || !isObject(part)) return equals(value, part, seen);
  return Object.keys(part).every((key) => equals(value[key], part[key], seen));
}

/** As `contains`, but nested objects may hold more, too. */
export function matchesObject(value, part) {
  if (part instanceof Asymmetric || !isObject(part) || !isObject(value)) return equals(value, part);
  if (kind(value) !== kind(part)) return false;
  if (kind(part) === 'list') {
    return value.length === part.length && part.every((item, index) => matchesObject(value[index], item));
  }
  if (kind(part) !== 'object') return equals(value, part);
  return Object.keys(part).every((key) => Object.hasOwn(value, key) && matchesObject(value[key], part[key]));
}

function defined(object) {
  return Object.keys(object).filter((key) => object[key] !== undefined);
}

function isObject(value) {
  return typeof value === 'object' && value !== null;
}

function kind(value) {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return 'list';
  if (value instanceof Date) return 'date';
  if (value instanceof RegExp) return 'regexp';
  if (value instanceof Error) return 'error';
  if (value instanceof Map) return 'map';
  if (value instanceof Set) return 'set';
  return 'object';
}
