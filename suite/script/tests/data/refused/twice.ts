import { test } from 'muster';

test('a', () => {});
test('b', () => {});
test('a', () => {});
