import { expect, test } from 'e2e';
import type { Locator } from 'e2e';

interface Basket {
  items: string[];
}

enum Size {
  Small = 1,
  Large,
}

const enum Colour {
  Red = 'red',
}

namespace Prices {
  export const socks = 5;
}

abstract class Page<T extends Basket> {
  declare readonly never: number;
  note?: string;

  constructor(
    protected readonly basket: T,
    private size: Size = Size.Large,
  ) {}

  abstract name(): string;

  describe(this: Page<T>): string {
    return `${this.name()} ${this.basket.items.length} ${Size[this.size]}`;
  }
}

class Cart extends Page<Basket> {
  #hidden = 1 as const;

  override name() {
    return `cart${this.#hidden}`;
  }
}

function overloaded(value: string): string;
function overloaded(value: number): string;
function overloaded(value: unknown) {
  return String(value);
}

const page = new Cart({ items: ['a'] } satisfies Basket);

test('types leave and lines stay', async () => {
  const text = page.describe()!;
  console.log(text, Colour.Red, Prices.socks, overloaded(<number>3), typeof ({} as Locator));
  for await (const item of [Promise.resolve(1)]) console.log(item);
  expect(text).toBe('cart1 1 Large');
});

test('a throw names its line', async () => {
  const nothing: { deep?: { deeper: number } } = {};

  console.log(nothing.deep!.deeper);
});

test('a throw in a function names the function', () => {
  function helper(): never {
    // two lines
    // of comment
    throw new Error('from the helper');
  }
  helper();
});

test('a step names its line', async ({ screen }) => {
  await screen.getByTestId('fine').tap();
  await screen
    .getByRole('list')
    .getByTestId('missing')
    .tap();
});
