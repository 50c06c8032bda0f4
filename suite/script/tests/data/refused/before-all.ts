import { beforeAll, test } from 'muster';

beforeAll(() => {});
test('a', () => {});
