import { test } from 'muster';
test('a', { retries: 11 }, () => {});
