import { afterEach, beforeEach, describe, test } from 'muster';

beforeEach(() => console.log('before 1'));
afterEach(() => console.log('after 1'));
beforeEach(async ({ app }) => {
  await app.open('/before-2');
  console.log('before 2');
});
afterEach(async ({ app }) => {
  await app.open('/after-2');
  console.log('after 2');
});

describe('inner', () => {
  afterEach(() => console.log('inner after 1'));
  beforeEach(() => console.log('inner before 1'));
  afterEach(() => console.log('inner after 2'));

  test('runs them outside in and inside out', () => console.log('body'));
  test('runs afterEach after a failure', () => {
    throw new Error('body failed');
  });
  test('runs afterEach after a skip', () => test.skip(true, 'not today'));
});

describe('failing', () => {
  beforeEach(({ screen }) => screen.getByTestId('missing').tap());
  afterEach(() => {
    throw new Error('after threw');
  });

  test('beforeEach fails: no body, but afterEach', () => console.log('never'));
});

describe('machines', () => {
  beforeEach(({ app }) => app.open('/down'));

  test('a fault of the machine keeps its code', () => console.log('never'));
});

describe('late', () => {
  afterEach(({ app }) => {
    void app.open('/hang');
  });
  afterEach(() => new Promise((resolve) => setTimeout(resolve, 60_000)));

  test('hooks have a time and must await, too', () => console.log('body'));
});

describe('never', () => {
  afterEach(() => new Promise(() => {}));

  test('a hook that nothing can wake', () => {});
});
