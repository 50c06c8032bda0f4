import { test } from 'muster';
test('é'.repeat(300), () => {});
