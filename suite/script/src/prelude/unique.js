// New data in every run: a value with a random suffix, remembered so that a recording made with one
// replays with the next.

import { invalid } from 'muster:errors';
import { native } from 'muster:host';

const made = new Set();

/** `value` with a suffix that fits its shape. */
export function unique(value) {
  if (typeof value !== 'string' || value === '') throw invalid('unique() takes a text that is not empty');
  const fresh = suffixed(value);
  made.add(fresh);
  return fresh;
}

/** Whether unique() made this text. */
export function isUnique(text) {
  return made.has(text);
}

function suffixed(value) {
  const mail = /^([^\s@]+)(@[^\s@]+)$/.exec(value);
  if (mail) return `${mail[1]}-${word(8)}${mail[2]}`;
  if (/^\+?\d+$/.test(value)) return value + digits(8);
  return /\s/.test(value) ? `${value} ${word(8)}` : `${value}-${word(8)}`;
}

function word(length) {
  return pick('abcdefghjkmnpqrstuvwxyz23456789', length);
}

function digits(length) {
  return pick('0123456789', length);
}

function pick(alphabet, length) {
  return Array.from({ length }, () => alphabet[native.random() % alphabet.length]).join('');
}
