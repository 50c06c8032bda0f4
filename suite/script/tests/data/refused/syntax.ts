import { test } from 'muster';

test('a', async () => {
  const x = ;
});
