// Arguments are checked before anything is sent.

import { invalid, unsupported } from 'muster:errors';

export function isPlain(value) {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Checks an options object: a key that isn't in `known` is refused with the nearest one. `known`
 * maps keys to checks (undefined passes always); `later` names options that other tools have.
 */
export function options(given, call, known, later = [], refuse = invalid) {
  if (given === undefined) return {};
  if (!isPlain(given)) throw refuse(`${call} takes an options object`);
  for (const key of Object.keys(given)) {
    if (later.includes(key)) throw unsupported(`option \`${key}\` of ${call}`);
    if (!Object.hasOwn(known, key)) throw refuse(`${call} has no option \`${key}\`${suggestion(key, Object.keys(known))}`);
    if (given[key] !== undefined) known[key](given[key], `option \`${key}\` of ${call}`, refuse);
  }
  return given;
}

function suggestion(word, candidates) {
  const meant = nearest(word, candidates);
  if (meant) return `; did you mean \`${meant}\`?`;
  return candidates.length ? `; it may be ${candidates.map((name) => `\`${name}\``).join(', ')}` : '; it takes none';
}

/** At most one edit in three characters, case aside. */
export function nearest(word, candidates) {
  let best = null;
  for (const candidate of candidates) {
    const edits = distance(word.toLowerCase(), candidate.toLowerCase());
    if (edits * 3 <= Math.max(word.length, candidate.length) && edits < (best?.edits ?? Infinity)) {
      best = { edits, candidate };
    }
  }
  return best?.candidate;
}

function distance(a, b) {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      row[j] = Math.min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1);
    }
    rows.push(row);
  }
  return rows[a.length][b.length];
}

// Checks: (value, what, refuse) => void, throwing refuse(message).

export const milliseconds = integer(1, Number.MAX_SAFE_INTEGER, 'milliseconds');

export function integer(least, most, unit = '') {
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `${least} to ${most}`;
  return (value, what, refuse = invalid) => {
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      throw refuse(`${what} takes a whole number ${range}${unit && ` (${unit})`}`);
    }
  };
}

export function boolean(value, what, refuse = invalid) {
  if (typeof value !== 'boolean') throw refuse(`${what} takes true or false`);
}

export function text(value, what, refuse = invalid) {
  if (typeof value !== 'string' || value === '') throw refuse(`${what} takes a text that is not empty`);
}

/** A text that may be empty. */
export function string(value, what) {
  if (typeof value !== 'string') throw invalid(`${what} takes a text`);
  return value;
}

/** How text is compared: whole, part (`exact: false`), or a pattern. */
export function textMatch(value, what, exact = true) {
  if (value instanceof RegExp) return { how: 'pattern', source: value.source, flags: value.flags };
  if (typeof value !== 'string') throw invalid(`${what} takes a text or a regular expression`);
  return exact ? { how: 'exact', text: value } : { how: 'substring', text: value };
}

/** `{timeoutMs}` if a timeout was given. */
export function timeout(options) {
  return options.timeout === undefined ? {} : { timeoutMs: options.timeout };
}
