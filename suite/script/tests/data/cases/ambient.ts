import { expect, test } from 'muster';

test('what there is', async () => {
  console.log(Object.getOwnPropertyNames(globalThis).sort().join(' '));
  console.info('info', 1);
  console.warn('warn', [1, 'a', { b: null }]);
  console.error(new Error('shown'));
  console.debug(undefined, -0, 1n, Symbol('s'), () => 1, new Map([[1, new Set(['a'])]]), new Date(0), /x/g);
});

test('what there is not', () => {
  for (const name of ['process', 'require', 'module', 'fetch', 'XMLHttpRequest', 'WebSocket', 'Deno', 'Bun', 'window', 'std', 'os', 'print', 'scriptArgs', 'native', 'Intl', 'performance']) {
    console.log(name, typeof (globalThis as any)[name]);
  }
});

test('the prelude is closed to tests', async () => {
  for (const name of ['muster:host', 'muster:kernel', 'fs', 'node:fs', './x.ts']) {
    const computed = [name].join('');
    await import(computed).then(
      () => console.log(name, 'OPEN'),
      (error) => console.log(`${error.name}: ${error.message}`),
    );
  }
});

test('timers', async () => {
  const order: string[] = [];
  const cancelled = setTimeout(() => order.push('never'), 1);
  clearTimeout(cancelled);
  setTimeout((word: string) => order.push(word), 30, 'late');
  setTimeout(() => order.push('soon'), 1);
  queueMicrotask(() => order.push('micro'));
  let ticks = 0;
  await new Promise<void>((resolve) => {
    const interval = setInterval(() => {
      ticks += 1;
      if (ticks === 3) {
        clearInterval(interval);
        resolve();
      }
    }, 1);
  });
  await new Promise((resolve) => setTimeout(resolve, 40));
  expect(order).toEqual(['micro', 'soon', 'late']);
  expect(ticks).toBe(3);
});

test('addresses', () => {
  const url = new URL('../b?x=1&y=a%20b#top', 'http://user:pw@shop.test:8080/a/c/d');
  console.log(url.href, url.origin, url.host, url.port, url.pathname, url.search, url.hash, url.username);
  url.searchParams.set('x', 'ü&');
  url.searchParams.append('z', '1');
  url.searchParams.delete('y');
  url.port = '80';
  url.hash = '';
  console.log(String(url), JSON.stringify({ url }), [...url.searchParams]);
  url.search = '?q=1';
  expect(url.searchParams.get('q')).toBe('1');
  expect(URL.canParse('nope')).toBe(false);
  expect(() => new URL('nope')).toBeDefined();
  const params = new URLSearchParams({ b: '2', a: '1' });
  params.sort();
  console.log(`${params}`, params.size, params.has('a', '1'), params.getAll('b'), Object.keys(params));
});

test('texts and bytes', () => {
  const bytes = new TextEncoder().encode('é€💡');
  expect([...bytes]).toEqual([0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x92, 0xa1]);
  expect(new TextDecoder().decode(bytes)).toBe('é€💡');
  expect(new TextDecoder().decode(bytes.subarray(2, 5))).toBe('€');
  expect(new TextDecoder().decode(new Uint8Array([0xff]))).toBe('\ufffd');
  let code = '';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xff]));
  } catch (error) {
    code = error.name;
  }
  expect(code).toBe('TypeError');
  console.log(new TextEncoder().encodeInto('a€b', new Uint8Array(3)));
});

test('clones', () => {
  const value: any = { date: new Date(3), map: new Map([['k', { deep: [1] }]]), set: new Set([1]), re: /x/gi, bytes: new Uint8Array([1, 2]) };
  value.self = value;
  const copy = structuredClone(value);
  expect(copy.self).toBe(copy);
  expect(copy.map.get('k')).toEqual({ deep: [1] });
  expect(copy.map.get('k')).not.toBe(value.map.get('k'));
  copy.bytes[0] = 9;
  expect(value.bytes[0]).toBe(1);
  let name = '';
  try {
    structuredClone({ f: () => 1 });
  } catch (error) {
    name = error.name;
  }
  expect(name).toBe('DataCloneError');
});

test('uuids', () => {
  const one = crypto.randomUUID();
  expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(crypto.randomUUID()).not.toBe(one);
});
