import { test } from 'muster';
(test as any).describe.serial('a', () => {});
