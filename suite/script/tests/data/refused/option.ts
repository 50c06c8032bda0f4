import { test } from 'muster';

test('a', { retires: 2 } as any, () => {});
