import { test } from 'muster';
test('a', { tags: ['x', 'x'] }, () => {});
