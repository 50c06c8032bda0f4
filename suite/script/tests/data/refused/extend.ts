import { test } from 'muster';
(test as any).extend({});
