import { test } from 'muster';
test('', () => {});
