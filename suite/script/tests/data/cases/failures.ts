import { MusterError, expect, test } from 'muster';

test('an error', () => {
  throw new TypeError('wrong kind');
});

test('not an error', () => {
  throw { code: 12, list: [1, 2] };
});

test('an error of the test with a code of ours', () => {
  throw new MusterError('SEED_DATA_MISSING', 'no customer');
});

test('a step fails', async ({ screen }) => {
  await screen.getByTestId('missing').tap();
});

test('a failure can be looked at', async ({ screen, agent }) => {
  try {
    await screen.getByTestId('missing').tap();
  } catch (error) {
    console.log(error instanceof MusterError, error instanceof Error, error.code, error.status, error.message, error.near);
  }
  try {
    await agent.act('blocked');
  } catch (error) {
    console.log(error.code, error.status, error.blocked, error.explanation);
  }
});

test('a blocked goal', async ({ agent }) => {
  await agent.act('blocked');
});

test('expected and actual travel', async ({ screen }) => {
  await expect(screen.getByTestId('wrong')).toHaveText('Total 12');
});

test('soft failures are joined', async ({ screen }) => {
  await expect.soft(screen.getByTestId('wrong')).toBeVisible();
  expect.soft(1 + 1).toBe(3);
  console.log('goes on');
});

test('one soft failure stands alone', async ({ screen }) => {
  await expect.soft(screen.getByTestId('missing')).toBeVisible();
});

test('soft failures stand beside a throw', async ({ screen }) => {
  await expect.soft(screen.getByTestId('wrong')).toBeVisible();
  throw new Error('hard');
});

test('soft does not keep what is not the page', async ({ screen }) => {
  await expect.soft(screen.getByTestId('down')).toBeVisible();
  console.log('never');
});

test('a skip ends the body', () => {
  test.skip(false, 'not this');
  test.skip(1 > 0, 'the shop is closed');
  console.log('never');
});

test('a skip cannot be swallowed', () => {
  try {
    test.skip();
  } catch {
    console.log('caught');
  }
});

test('a skip keeps soft failures', async () => {
  expect.soft(1).toBe(2);
  test.skip(true, 'after a soft failure');
});

test('a step that nobody awaits', ({ app, screen }) => {
  void app.open('/hang');
  void screen.getByTestId('hang').tap();
});

test('a step that nobody awaits beside a throw', ({ screen }) => {
  void screen.getByTestId('hang').tap();
  throw new Error('thrown');
});

test('a rejection that nobody looks at', async () => {
  void Promise.reject(new Error('lost'));
  await null;
});

test('a step that fails unseen', async ({ app, screen }) => {
  void screen.getByTestId('missing').tap();
  await app.open('/');
});

test('a rejection looked at later is none', async ({ app, screen }) => {
  const failing = screen.getByTestId('missing').tap();
  await app.open('/');
  await failing.catch(() => {});
});

test('a timer that throws', async () => {
  setTimeout(() => {
    throw new Error('from a timer');
  }, 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
});

test('a promise that nothing can settle', async () => {
  await new Promise(() => {});
});

test('polling fails with the last reading', async () => {
  let reads = 0;
  await expect.poll(() => (reads += 1), { timeout: 20, interval: 15, message: 'stock' }).toBe(0);
});

test('polling survives throws and waits', async () => {
  let reads = 0;
  const read = () => {
    reads += 1;
    if (reads === 1) throw new Error('not yet');
    return reads;
  };
  await expect.poll(read, { interval: 1 }).toBe(3);
  await expect.poll(async () => reads, { interval: 1 }).not.toBe(99);
});

test('test() in a test', () => {
  test('inner', () => {});
});
