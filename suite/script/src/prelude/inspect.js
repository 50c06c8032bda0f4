// Values as text, for console lines and messages; bounded, and blind to what secrets hold.

const MAX_DEPTH = 4;
const MAX_ITEMS = 50;
const MAX_TEXT = 2000;

/** One line (or few) for people. */
export function inspect(value) {
  const text = show(value, 0, new Set());
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/** Console's way: strings as they are. */
export function print(value) {
  return typeof value === 'string' ? value : inspect(value);
}

function show(value, depth, seen) {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value);
    case 'bigint':
      return `${value}n`;
    case 'symbol':
      return value.toString();
    case 'function':
      return `[function ${value.name || 'anonymous'}]`;
    case 'object':
      return value === null ? 'null' : object(value, depth, seen);
    default:
      return Object.is(value, -0) ? '-0' : String(value);
  }
}

function object(value, depth, seen) {
  if (typeof value.inspected === 'function') return value.inspected();
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) return '[promise]';
  if (seen.has(value)) return '[circular]';
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? '[…]' : '{…}';
  seen.add(value);
  const inner = (item) => show(item, depth + 1, seen);
  let text;
  if (Array.isArray(value)) text = `[${items(value, inner)}]`;
  else if (value instanceof Map) text = `Map {${items([...value], ([key, item]) => `${inner(key)} => ${inner(item)}`)}}`;
  else if (value instanceof Set) text = `Set {${items([...value], inner)}}`;
  else text = plain(value, inner);
  seen.delete(value);
  return text;
}

function plain(value, inner) {
  const name = Object.getPrototypeOf(value)?.constructor?.name;
  const prefix = name && name !== 'Object' ? `${name} ` : '';
  const keys = Object.keys(value);
  if (keys.length === 0) return `${prefix}{}`;
  const pair = (key) => `${/^[\w$]+$/.test(key) ? key : JSON.stringify(key)}: ${inner(value[key])}`;
  return `${prefix}{ ${items(keys, pair)} }`;
}

function items(list, show) {
  const shown = list.slice(0, MAX_ITEMS).map(show);
  if (list.length > MAX_ITEMS) shown.push(`… ${list.length - MAX_ITEMS} more`);
  return shown.join(', ');
}
