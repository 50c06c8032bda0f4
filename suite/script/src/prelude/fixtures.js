// What a test is given: app, screen, agent and browser, each made when it is first asked for.

import { milliseconds, options, string, textMatch, timeout } from 'muster:args';
import { Agent } from 'muster:agent';
import { unsupported } from 'muster:errors';
import { Screen, done } from 'muster:locator';
import { state } from 'muster:state';
import { step } from 'muster:step';

/** The app under test as a whole. */
class App {
  #scope;

  constructor(scope) {
    this.#scope = scope;
  }

  get baseUrl() {
    return state.baseUrl;
  }

  async open(path = '') {
    return done(await step(this.#scope, { op: 'appOpen', path: string(path, 'app.open()') }));
  }

  async back() {
    return done(await step(this.#scope, { op: 'appBack' }));
  }

  async clearState() {
    return done(await step(this.#scope, { op: 'appClearState' }));
  }
}

/** The browser's window. */
export class Browser {
  #scope;

  constructor(scope) {
    this.#scope = scope;
  }

  get scope() {
    return this.#scope;
  }

  inspected() {
    return '[browser]';
  }

  async goto(url, given) {
    const opts = options(given, 'browser.goto()', { timeout: milliseconds });
    return done(await step(this.#scope, { op: 'browserGoto', url: string(url, 'browser.goto()'), ...timeout(opts) }));
  }

  async reload() {
    return done(await step(this.#scope, { op: 'browserReload' }));
  }

  async back() {
    return done(await step(this.#scope, { op: 'browserBack' }));
  }

  async forward() {
    return done(await step(this.#scope, { op: 'browserForward' }));
  }

  async url() {
    return step(this.#scope, { op: 'browserUrl' });
  }

  async title() {
    return step(this.#scope, { op: 'browserTitle' });
  }

  async waitForURL(url, given) {
    const opts = options(given, 'browser.waitForURL()', { timeout: milliseconds });
    const op = { op: 'browserWaitForUrl', url: textMatch(url, 'browser.waitForURL()'), ...timeout(opts) };
    return done(await step(this.#scope, op));
  }
}

later(App, 'app', ['restart', 'screenshot']);
later(Browser, 'browser', [
  'locator',
  'frameLocator',
  'evaluate',
  'route',
  'unroute',
  'waitForResponse',
  'waitForDownload',
  'waitForPopup',
  'cookies',
  'setCookies',
  'setViewport',
  'onDialog',
  'keyboard',
  'mouse',
  'screenshot',
]);

function later(type, fixture, names) {
  for (const name of names) {
    Object.defineProperty(type.prototype, name, {
      get() {
        throw unsupported(`${fixture}.${name}`);
      },
    });
  }
}

const MAKERS = {
  app: (scope) => new App(scope),
  screen: (scope) => new Screen(scope, []),
  agent: (scope) => new Agent(scope),
  browser: (scope) => new Browser(scope),
};

/** The fixtures of one scope. */
export function fixtures(scope) {
  const made = new Map();
  return new Proxy(Object.freeze({}), {
    get(_, name) {
      if (typeof name === 'symbol' || name === 'then') return undefined;
      if (!Object.hasOwn(MAKERS, name)) {
        throw unsupported(`fixture \`${name}\``, `a test is given ${Object.keys(MAKERS).join(', ')}`);
      }
      if (!made.has(name)) made.set(name, MAKERS[name](scope));
      return made.get(name);
    },
    has: (_, name) => Object.hasOwn(MAKERS, name),
    ownKeys: () => Object.keys(MAKERS),
    getOwnPropertyDescriptor(_, name) {
      return Object.hasOwn(MAKERS, name) ? { enumerable: true, configurable: true } : undefined;
    },
  });
}
