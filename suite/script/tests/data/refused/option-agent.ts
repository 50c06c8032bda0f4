import { test } from 'muster';
test('a', { agent: [] }, () => {});
