import { expect, test } from 'muster';

test('what holds', () => {
  expect(NaN).toBe(NaN);
  expect({ a: 1, b: [1, { c: 2 }], d: undefined }).toEqual({ a: 1, b: [1, { c: 2 }] });
  expect(new Map([['a', { b: 1 }]])).toEqual(new Map([['a', { b: 1 }]]));
  expect(new Set([{ a: 1 }])).toEqual(new Set([{ a: 1 }]));
  expect(new Date(5)).toEqual(new Date(5));
  expect({ a: 1, b: { c: 2, d: 3 }, e: [1] }).toMatchObject({ b: { c: 2 }, e: [1] });
  expect('a').toBeTruthy();
  expect(0).toBeFalsy();
  expect(null).toBeNull();
  expect(undefined).toBeUndefined();
  expect(0).toBeDefined();
  expect([1, 2]).toHaveLength(2);
  expect('ab').toHaveLength(2);
  expect({ a: { b: [5] } }).toHaveProperty('a.b.0', 5);
  expect({ 'a.b': undefined }).toHaveProperty(['a.b']);
  expect('socks').toContain('ock');
  expect([1, 2]).toContain(2);
  expect('order 12').toMatch(/\d+/);
  expect('order 12').toMatch('order');
  expect(2).toBeGreaterThan(1);
  expect(2).toBeGreaterThanOrEqual(2);
  expect(1n).toBeLessThan(2);
  expect(2).toBeLessThanOrEqual(2);
  expect(0.1 + 0.2).toBeCloseTo(0.3);
  expect(1.04).toBeCloseTo(1, 1);
  expect({ id: 7, at: new Date(), tags: ['a', 'b'], name: 'order 12', rest: null }).toEqual({
    id: expect.any(Number),
    at: expect.any(Date),
    tags: expect.arrayContaining(['b']),
    name: expect.stringMatching(/\d/),
    rest: null,
  });
  expect([1, 'abc']).toEqual([expect.anything(), expect.stringContaining('b')]);
  expect({ a: 1, b: 2 }).toEqual(expect.objectContaining({ b: 2 }));
});

test('what does not', () => {
  const cyclic: Record<string, unknown> = { name: 'loop' };
  cyclic.self = cyclic;
  const cases: [string, () => void][] = [
    ['toBe', () => expect({ a: 1 }).toBe({ a: 1 })],
    ['not toBe', () => expect(1).not.toBe(1)],
    ['toEqual', () => expect({ a: 1, b: 2 }).toEqual({ a: 1 })],
    ['toEqual kinds', () => expect([]).toEqual({})],
    ['toEqual cyclic', () => expect(cyclic).toEqual({ name: 'loop' })],
    ['toMatchObject', () => expect({ a: { b: 1 } }).toMatchObject({ a: { b: 2 } })],
    ['toBeTruthy', () => expect('').toBeTruthy()],
    ['toBeNull', () => expect(undefined).toBeNull()],
    ['toHaveLength', () => expect([1]).toHaveLength(2)],
    ['toHaveProperty', () => expect({ a: 1 }).toHaveProperty('a', 2)],
    ['toHaveProperty missing', () => expect({ a: 1 }).toHaveProperty('b')],
    ['toContain', () => expect('socks').toContain('shoe')],
    ['toMatch', () => expect('socks').toMatch(/\d/)],
    ['toMatch type', () => expect(5).toMatch(/\d/)],
    ['toBeGreaterThan', () => expect(1).toBeGreaterThan(1)],
    ['toBeGreaterThan type', () => expect('2').toBeGreaterThan(1)],
    ['toBeCloseTo', () => expect(1.1).toBeCloseTo(1, 2)],
    ['any', () => expect({ a: 'x' }).toEqual({ a: expect.any(Number) })],
    ['long', () => expect(Array.from({ length: 60 }, (_, i) => i)).toBe(0)],
    ['promise', () => expect(Promise.resolve(1)).toBe(1)],
    ['locator matcher', () => (expect(1) as any).toBeVisible()],
  ];
  for (const [name, run] of cases) {
    try {
      run();
      console.log(name, 'HELD');
    } catch (error) {
      console.log(`${name} ${error.code}: ${error.message} | ${error.expected} | ${error.actual}`);
    }
  }
});
