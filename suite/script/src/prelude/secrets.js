// Secrets stand in tests as handles: a name, never a value.

import { MusterError, invalid } from 'muster:errors';
import { nearest, string, text } from 'muster:args';
import { state } from 'muster:state';

/** A declared secret. It can be filled in and handed to goals; it can't become text. */
export class Secret {
  #name;

  constructor(name) {
    this.#name = name;
    Object.freeze(this);
  }

  get name() {
    return this.#name;
  }

  toJSON() {
    return { kind: 'secret', name: this.#name };
  }

  inspected() {
    return `<secret:${this.#name}>`;
  }

  [Symbol.toPrimitive]() {
    throw invalid(
      `secret \`${this.#name}\` can't become text: its value isn't here; hand it to fill() or to params as it is`,
    );
  }
}

export const secrets = Object.freeze({
  /** The secret that `muster.toml` declares under `name`. */
  get(name) {
    text(name, 'secrets.get()');
    if (state.secrets !== null && !state.secrets.includes(name)) {
      const meant = nearest(name, state.secrets);
      const hint = meant ? `did you mean \`${meant}\`?` : `declare it: [secrets.${name}] with env = "..."`;
      throw new MusterError('SECRET_UNAVAILABLE', `muster.toml declares no secret \`${name}\`; ${hint}`);
    }
    return new Secret(name);
  },
});

/** What fill() sends. */
export function fillValue(value) {
  if (value instanceof Secret) return { kind: 'secret', name: value.name };
  return { kind: 'plain', text: string(value, 'fill()') };
}
