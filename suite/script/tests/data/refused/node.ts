import { test } from 'muster';
import { readFileSync } from 'node:fs';
test('a', () => readFileSync('x'));
