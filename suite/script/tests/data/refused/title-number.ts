import { test } from 'muster';
(test as any)(5, () => {});
