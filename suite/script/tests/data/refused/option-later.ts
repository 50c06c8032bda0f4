import { test } from 'muster';
test('a', { session: 'admin' } as any, () => {});
