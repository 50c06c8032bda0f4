import { describe, test } from 'muster';

describe('a', async () => {
  test('b', () => {});
});
