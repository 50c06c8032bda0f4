// URL and URLSearchParams; the parsing is native (WHATWG).

import { native } from 'muster:host';

export class URL {
  #parts;
  #params;

  constructor(url, base) {
    const parts = native.url(String(url), base === undefined ? undefined : String(base));
    if (parts === undefined) throw new TypeError(`Invalid URL: ${url}`);
    this.#parts = JSON.parse(parts);
    this.#params = new URLSearchParams(this.#parts.search);
    this.#params[CHANGED] = (query) => this.#set('search', query);
  }

  static canParse(url, base) {
    return native.url(String(url), base === undefined ? undefined : String(base)) !== undefined;
  }

  static parse(url, base) {
    return URL.canParse(url, base) ? new URL(url, base) : null;
  }

  get origin() {
    return this.#parts.origin;
  }

  get searchParams() {
    return this.#params;
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }

  inspected() {
    return this.href;
  }

  static {
    for (const part of ['protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash']) {
      Object.defineProperty(URL.prototype, part, {
        configurable: true,
        enumerable: true,
        get() {
          return this.#parts[part];
        },
        set(value) {
          this.#set(part, String(value));
          if (part === 'search') this.#params[REPLACE](this.#parts.search);
        },
      });
    }
    Object.defineProperty(URL.prototype, 'href', {
      configurable: true,
      enumerable: true,
      get() {
        return this.#parts.href;
      },
      set(value) {
        const parts = native.url(String(value), undefined);
        if (parts === undefined) throw new TypeError(`Invalid URL: ${value}`);
        this.#parts = JSON.parse(parts);
        this.#params[REPLACE](this.#parts.search);
      },
    });
  }

  #set(part, value) {
    this.#parts = JSON.parse(native.setUrl(this.#parts.href, part, value));
  }
}

const CHANGED = Symbol('changed');
const REPLACE = Symbol('replace');

export class URLSearchParams {
  #pairs = [];
  [CHANGED] = null;

  constructor(init = '') {
    Object.defineProperty(this, CHANGED, { enumerable: false });
    if (typeof init === 'object' && init !== null) {
      const entries = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init);
      this.#pairs = entries.map(([name, value]) => [String(name), String(value)]);
    } else {
      this[REPLACE](String(init));
    }
  }

  [REPLACE](query) {
    this.#pairs = JSON.parse(native.query(query.startsWith('?') ? query.slice(1) : query));
  }

  get size() {
    return this.#pairs.length;
  }

  get(name) {
    return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null;
  }

  getAll(name) {
    return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value);
  }

  has(name, value) {
    return this.#pairs.some(([key, held]) => key === String(name) && (value === undefined || held === String(value)));
  }

  append(name, value) {
    this.#pairs.push([String(name), String(value)]);
    this.#tell();
  }

  set(name, value) {
    const at = this.#pairs.findIndex(([key]) => key === String(name));
    if (at < 0) {
      this.append(name, value);
      return;
    }
    this.#pairs = this.#pairs.filter(([key], index) => key !== String(name) || index === at);
    this.#pairs[at] = [String(name), String(value)];
    this.#tell();
  }

  delete(name, value) {
    this.#pairs = this.#pairs.filter(([key, held]) => key !== String(name) || (value !== undefined && held !== String(value)));
    this.#tell();
  }

  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#tell();
  }

  forEach(callback, self) {
    for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
  }

  *entries() {
    for (const pair of this.#pairs) yield [...pair];
  }

  *keys() {
    for (const [name] of this.#pairs) yield name;
  }

  *values() {
    for (const [, value] of this.#pairs) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    return native.toQuery(JSON.stringify(this.#pairs));
  }

  inspected() {
    return `URLSearchParams ${JSON.stringify(this.toString())}`;
  }

  #tell() {
    this[CHANGED]?.(this.toString());
  }
}
