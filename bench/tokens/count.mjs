// Tokens of what a model is sent, by one published vocabulary (o200k) for both sides.
import { encode } from 'gpt-tokenizer';

/** What is sent as JSON, texts and calls as they stand. */
export const tokens = (value) => encode(typeof value === 'string' ? value : JSON.stringify(value)).length;

const ESCAPE = /[.*+?^${}()|[\]\\]/g;

/** The reference of the first element of this role and name, below the line that `after` stands in. */
export function find(screen, { role, name, after }, reference) {
  const wanted = new RegExp(`\\b${role} "${name.replace(ESCAPE, '\\$&')}`);
  const lines = screen.split('\n');
  const from = after ? lines.findIndex((line) => line.includes(after)) : 0;
  if (from < 0) return undefined;
  return lines.slice(from).find((line) => wanted.test(line))?.match(reference)?.[1];
}
