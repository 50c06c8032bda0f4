// Matchers on locators and on the browser: arguments => what should hold, as data.

import { integer, isPlain, milliseconds, options, text, textMatch, timeout } from 'muster:args';
import { invalid } from 'muster:errors';

const TIMEOUT = { timeout: milliseconds };

function plain(to) {
  return (name, [given]) => ({ matcher: { to }, ...given_(name, given) });
}

function withText(to) {
  return (name, [want, given]) => ({ matcher: { to, want: textMatch(want, `${name}()`) }, ...given_(name, given) });
}

function withTexts(to) {
  return (name, [want, given]) => {
    const one = (item) => textMatch(item, `${name}()`);
    const texts = Array.isArray(want) ? { form: 'list', texts: want.map(one) } : { form: 'one', texts: one(want) };
    return { matcher: { to, want: texts }, ...given_(name, given) };
  };
}

function given_(name, given) {
  return timeout(options(given, `${name}()`, TIMEOUT));
}

export const LOCATOR_MATCHERS = {
  toBeVisible: plain('beVisible'),
  toBeHidden: plain('beHidden'),
  toBeAttached: plain('beAttached'),
  toBeEnabled: plain('beEnabled'),
  toBeDisabled: plain('beDisabled'),
  toBeChecked: plain('beChecked'),
  toBeSelected: plain('beSelected'),
  toBeExpanded: plain('beExpanded'),
  toBeFocused: plain('beFocused'),
  toHaveText: withTexts('haveText'),
  toContainText: withTexts('containText'),
  toHaveValue: withText('haveValue'),
  toHaveAccessibleName: withText('haveAccessibleName'),
  toHaveClass: withText('haveClass'),
  toHaveAttribute(name, [attribute, ...rest]) {
    text(attribute, `${name}()`);
    const valued = rest.length > 0 && !isPlain(rest[0]) && rest[0] !== undefined;
    const matcher = { to: 'haveAttribute', name: attribute };
    if (valued) matcher.want = textMatch(rest.shift(), `${name}()`);
    else if (rest[0] === undefined) rest.shift();
    return { matcher, ...given_(name, rest[0]) };
  },
  toHaveCount(name, [count, given]) {
    integer(0, 0xffffffff)(count, `${name}()`, invalid);
    return { matcher: { to: 'haveCount', count }, ...given_(name, given) };
  },
};

export const BROWSER_MATCHERS = {
  toHaveURL: withText('haveUrl'),
  toHaveTitle: withText('haveTitle'),
};
