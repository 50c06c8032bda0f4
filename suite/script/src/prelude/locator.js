// Locators: lazy descriptions, sent as data with each step.

import { boolean, integer, isPlain, milliseconds, nearest, options, string, text, textMatch, timeout } from 'muster:args';
import { MusterError, invalid, unsupported } from 'muster:errors';
import { fillValue } from 'muster:secrets';
import { step } from 'muster:step';

const ROLES = new Set(
  (
    'button link textbox searchbox combobox listbox option checkbox radio radiogroup switch slider spinbutton ' +
    'progressbar meter image heading tab tablist tabpanel menu menubar menuitem menuitemcheckbox menuitemradio ' +
    'toolbar tooltip tree treeitem list listitem table grid row rowgroup rowheader cell gridcell columnheader ' +
    'separator group article figure form status alert dialog alertdialog main navigation banner contentinfo ' +
    'complementary region'
  ).split(' '),
);

const MAX_FILES = 16;

const STATES = ['checked', 'disabled', 'selected', 'expanded', 'pressed'];

const LATER = {
  locator: 'tests find elements as people do: by role, label, text, placeholder or test id',
  getByAltText: "use getByRole('image', name)",
  getByTitle: null,
  getByDisplayValue: 'find the field by its label and check its value',
  doubleTap: null,
  dblclick: null,
  secondaryTap: null,
  longPress: null,
  pressSequentially: 'fill() replaces the text at once',
  dragTo: null,
  swipe: null,
  evaluate: null,
  screenshot: null,
};

function malformed(message) {
  return new MusterError('INVALID_LOCATOR', message);
}

/** The queries, on a page or within a locator. */
class Queries {
  #scope;
  #steps;

  constructor(scope, steps) {
    this.#scope = scope;
    this.#steps = steps;
  }

  getByRole(role, nameOrOptions, given) {
    const named = typeof nameOrOptions === 'string' || nameOrOptions instanceof RegExp;
    const call = 'getByRole()';
    const opts = options(named ? given : nameOrOptions, call, {
      name: textOrPattern,
      exact: boolean,
      visible: boolean,
      level: integer(1, 6),
      ...Object.fromEntries(STATES.map((state) => [state, boolean])),
    });
    if (named && opts.name !== undefined) throw malformed(`${call} was given two names`);
    const wanted = named ? nameOrOptions : opts.name;
    const known = role === 'img' ? 'image' : role;
    if (!ROLES.has(known)) {
      const meant = typeof role === 'string' ? nearest(role, ROLES) : null;
      throw malformed(`there is no role \`${String(role)}\`${meant ? `; did you mean \`${meant}\`?` : ''}`);
    }
    const states = {};
    for (const state of [...STATES, 'level']) if (opts[state] !== undefined) states[state] = opts[state];
    return this.#narrow({
      by: 'role',
      role: known,
      ...(wanted === undefined ? {} : { name: textMatch(wanted, call, opts.exact ?? true) }),
      ...(Object.keys(states).length ? { states } : {}),
      ...visible(opts),
    });
  }

  getByLabel(label, given) {
    return this.#byText('label', 'getByLabel()', label, given);
  }

  getByText(content, given) {
    return this.#byText('text', 'getByText()', content, given);
  }

  getByPlaceholder(placeholder, given) {
    return this.#byText('placeholder', 'getByPlaceholder()', placeholder, given);
  }

  getByTestId(id, given) {
    const opts = options(given, 'getByTestId()', { visible: boolean });
    text(id, 'getByTestId()', malformed);
    return this.#narrow({ by: 'testId', id, ...visible(opts) });
  }

  #byText(by, call, wanted, given) {
    const opts = options(given, call, { exact: boolean, visible: boolean });
    if (wanted === '') throw malformed(`${call} takes a text that is not empty`);
    return this.#narrow({ by, text: textMatch(wanted, call, opts.exact ?? true), ...visible(opts) });
  }

  #narrow(link) {
    return new Locator(this.#scope, [...this.#steps, link]);
  }
}

function textOrPattern(value, what) {
  textMatch(value, what);
}

function visible(opts) {
  return opts.visible ? { visible: true } : {};
}

const TIMEOUT = { timeout: milliseconds };

/** A description of elements; nothing is looked for until a step needs it. */
export class Locator extends Queries {
  #scope;
  #steps;

  constructor(scope, steps) {
    super(scope, steps);
    this.#scope = scope;
    this.#steps = steps;
  }

  get scope() {
    return this.#scope;
  }

  toJSON() {
    return { steps: this.#steps };
  }

  inspected() {
    return `locator ${JSON.stringify(this.#steps)}`;
  }

  filter(given) {
    if (!isPlain(given)) throw malformed('filter() takes { hasText } or { has } or both');
    const opts = options(given, 'filter()', { hasText: textOrPattern, has: isLocator }, [], malformed);
    if (opts.hasText === undefined && opts.has === undefined) throw malformed('filter() filters by nothing; give hasText or has');
    return this.#refine({
      by: 'filter',
      ...(opts.hasText === undefined ? {} : { hasText: textMatch(opts.hasText, 'hasText', false) }),
      ...(opts.has === undefined ? {} : { has: opts.has.toJSON() }),
    });
  }

  first() {
    return this.#refine({ by: 'nth', index: 0 });
  }

  last() {
    return this.#refine({ by: 'nth', index: -1 });
  }

  nth(index) {
    integer(0, 0x7fffffff)(index, 'nth()', malformed);
    return this.#refine({ by: 'nth', index });
  }

  async tap(given) {
    return this.#act('tap()', given, { do: 'tap' });
  }

  async click(given) {
    return this.#act('click()', given, { do: 'tap' });
  }

  async fill(value, given) {
    return this.#act('fill()', given, { do: 'fill', value: fillValue(value) });
  }

  async clear(given) {
    return this.#act('clear()', given, { do: 'clear' });
  }

  async press(key, given) {
    text(key, 'press()');
    return this.#act('press()', given, { do: 'press', key });
  }

  async check(given) {
    return this.#act('check()', given, { do: 'check' });
  }

  async uncheck(given) {
    return this.#act('uncheck()', given, { do: 'uncheck' });
  }

  async selectOption(choice, given) {
    return this.#act('selectOption()', given, { do: 'selectOption', choice: optionChoice(choice) });
  }

  async setInputFiles(files, given) {
    return this.#act('setInputFiles()', given, { do: 'setInputFiles', files: paths(files) });
  }

  async hover(given) {
    return this.#act('hover()', given, { do: 'hover' });
  }

  async focus(given) {
    return this.#act('focus()', given, { do: 'focus' });
  }

  async scrollIntoView(given) {
    return this.#act('scrollIntoView()', given, { do: 'scrollIntoView' });
  }

  async waitFor(given) {
    const opts = options(given, 'waitFor()', { state: oneOf('visible', 'hidden'), ...TIMEOUT });
    const op = { op: 'waitFor', locator: this, visible: opts.state !== 'hidden', ...timeout(opts) };
    return done(await step(this.#scope, op));
  }

  async textContent() {
    return this.#read({ what: 'textContent' });
  }

  async inputValue() {
    return this.#read({ what: 'inputValue' });
  }

  async getAttribute(name) {
    text(name, 'getAttribute()');
    return this.#read({ what: 'attribute', name });
  }

  async isEnabled() {
    return this.#read({ what: 'isEnabled' });
  }

  async isChecked() {
    return this.#read({ what: 'isChecked' });
  }

  async isVisible() {
    return this.#read({ what: 'isVisible' });
  }

  async isHidden() {
    return this.#read({ what: 'isHidden' });
  }

  async count() {
    return this.#read({ what: 'count' });
  }

  async allTextContents() {
    return this.#read({ what: 'allTextContents' });
  }

  async boundingBox() {
    return this.#read({ what: 'boundingBox' });
  }

  /** One locator for each match there is now. */
  async all() {
    const count = await this.count();
    return Array.from({ length: count }, (_, index) => this.nth(index));
  }

  #refine(link) {
    return new Locator(this.#scope, [...this.#steps, link]);
  }

  async #act(call, given, gesture) {
    const opts = options(given, call, TIMEOUT, ['position', 'modifiers', 'force', 'delay']);
    return done(await step(this.#scope, { op: 'act', locator: this, gesture, ...timeout(opts) }));
  }

  async #read(what) {
    return step(this.#scope, { op: 'read', locator: this, what });
  }
}

/** The page as a whole: queries only. */
export class Screen extends Queries {
  inspected() {
    return '[screen]';
  }
}

for (const [name, instead] of Object.entries(LATER)) {
  Object.defineProperty(Queries.prototype, name, {
    value() {
      throw unsupported(`${name}()`, instead);
    },
  });
}

export function isLocator(value, what, refuse = invalid) {
  if (!(value instanceof Locator)) throw refuse(`${what} takes a locator`);
}

function oneOf(...words) {
  return (value, what, refuse = invalid) => {
    if (!words.includes(value)) throw refuse(`${what} takes ${words.map((word) => `'${word}'`).join(' or ')}`);
  };
}

function paths(files) {
  const list = Array.isArray(files) ? files : [files];
  if (list.length < 1 || list.length > MAX_FILES) throw invalid(`setInputFiles() takes 1 to ${MAX_FILES} files`);
  for (const file of list) text(file, 'setInputFiles()');
  return list;
}

function optionChoice(choice) {
  if (typeof choice === 'string') return { by: 'label', label: choice };
  const shape = 'selectOption() takes a label or one of { label }, { value }, { index }';
  if (!isPlain(choice) || Object.keys(choice).length !== 1) throw invalid(shape);
  const [[by, wanted]] = Object.entries(choice);
  if (by === 'label' || by === 'value') return { by, [by]: string(wanted, `{ ${by} }`) };
  if (by !== 'index') throw invalid(shape);
  integer(0, 0xffffffff)(wanted, '{ index }');
  return { by, index: wanted };
}

/** Steps that yield nothing resolve with undefined. */
export function done() {
  return undefined;
}
