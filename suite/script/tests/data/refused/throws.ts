import { test } from 'muster';

const nothing: any = undefined;
test('a', () => {});

nothing.x.y();
