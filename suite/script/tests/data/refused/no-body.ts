import { test } from 'muster';
(test as any)('a', { tags: [] });
