// structuredClone: deep copies of data, cycles included.

export function structuredClone(value) {
  return copy(value, new Map());
}

function copy(value, seen) {
  if (typeof value === 'function' || typeof value === 'symbol') throw uncloneable(typeof value);
  if (typeof value !== 'object' || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (made) => {
    seen.set(value, made);
    return made;
  };
  if (value instanceof Date) return keep(new Date(value));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return keep(view(value, seen));
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) throw uncloneable('object');
  if (value instanceof Map) {
    const made = keep(new Map());
    for (const [key, item] of value) made.set(copy(key, seen), copy(item, seen));
    return made;
  }
  if (value instanceof Set) {
    const made = keep(new Set());
    for (const item of value) made.add(copy(item, seen));
    return made;
  }
  if (value instanceof Error) return keep(Object.assign(new value.constructor(value.message), { stack: value.stack }));
  const made = keep(Array.isArray(value) ? new Array(value.length) : {});
  for (const key of Object.keys(value)) made[key] = copy(value[key], seen);
  return made;
}

function view(value, seen) {
  const buffer = copy(value.buffer, seen);
  const length = value instanceof DataView ? value.byteLength : value.length;
  return new value.constructor(buffer, value.byteOffset, length);
}

function uncloneable(type) {
  const error = new TypeError(`a ${type} can't be cloned`);
  error.name = 'DataCloneError';
  return error;
}
