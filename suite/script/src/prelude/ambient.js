// What exists without an import, beside the language itself. There is no process, no require, no
// fetch, no file system.

import { structuredClone } from 'muster:clone';
import { native } from 'muster:host';
import { print } from 'muster:inspect';
import { start, stop } from 'muster:timers';
import { URL, URLSearchParams } from 'muster:url';

function callable(callback, call) {
  if (typeof callback !== 'function') throw new TypeError(`${call} takes a function`);
  return callback;
}

const console = {};
for (const level of ['log', 'info', 'warn', 'error', 'debug']) {
  console[level] = (...values) => native.log(level, values.map(print).join(' ').toWellFormed());
}

class TextEncoder {
  get encoding() {
    return 'utf-8';
  }

  encode(text = '') {
    return native.encode(String(text).toWellFormed());
  }

  encodeInto(text, target) {
    let read = 0;
    let written = 0;
    for (const character of String(text).toWellFormed()) {
      const bytes = this.encode(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

class TextDecoder {
  #fatal;

  constructor(label = 'utf-8', { fatal = false } = {}) {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`TextDecoder knows utf-8, not ${label}`);
    this.#fatal = Boolean(fatal);
  }

  get encoding() {
    return 'utf-8';
  }

  get fatal() {
    return this.#fatal;
  }

  decode(bytes = new Uint8Array()) {
    const view = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : new Uint8Array(bytes);
    const text = native.decode([...view], this.#fatal);
    if (text === undefined) throw new TypeError('the bytes are not utf-8');
    return text;
  }
}

/** Version 4, from the attempt's own randomness. */
function randomUUID() {
  const bytes = Array.from({ length: 16 }, () => native.random() & 0xff);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

const AMBIENT = {
  console,
  crypto: { randomUUID },
  structuredClone,
  queueMicrotask: (callback) => void Promise.resolve().then(callable(callback, 'queueMicrotask()')),
  setTimeout: (callback, delay, ...args) => start(() => callable(callback, 'setTimeout()')(...args), delay),
  setInterval: (callback, delay, ...args) => start(() => callable(callback, 'setInterval()')(...args), delay, { repeat: true }),
  clearTimeout: stop,
  clearInterval: stop,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
};

for (const [name, value] of Object.entries(AMBIENT)) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}
Error.stackTraceLimit = 50;
