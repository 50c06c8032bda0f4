import { describe, expect, secrets, test, unique } from 'muster';

console.log('a console line of collection');
const admin = secrets.get('admin');
const name = unique('socks');

test('plain', () => {
  expect(admin).toBeDefined();
  expect(name).toMatch(/socks/);
});

test.describe('cart', { tags: ['cart'], timeout: 1000, retries: 2, agent: 'fast' }, () => {
  test('inherits', () => {});
  test('overrides', { tags: ['slow', 'cart'], timeout: 5, retries: 0, agent: ['careful', 'fast'] }, () => {});

  describe('nested', { tags: ['deep'], skip: 'the shop is closed' }, () => {
    test('is skipped with the reason', () => {});
    test('says the outermost reason', { skip: 'no reason' }, () => {});
  });
});

describe.skip('a skipped group', () => {
  test('is skipped', () => {});
});

test.skip('a skipped test', () => {});
test('skips by option', { skip: true }, () => {});
test('does not skip by false', { skip: false }, () => {});

describe.only('a focused group', () => {
  test('is focused', () => {});
});
test.only('a focused test', { tags: ['x'] }, () => {});
test('focused by option: "quotes", 50 % & ünïcode', { only: true }, () => {});

for (const size of ['S', 'M']) test(`made in a loop: ${size}`, () => {});
