import { expect, secrets, test, unique } from 'muster';

// None of these may send a step: the golden has no calls.
test('arguments are checked before anything is sent', async (fixtures: any) => {
  const { app, screen, browser, agent } = fixtures;
  const field = screen.getByLabel('x');
  const cyclic: any = {};
  cyclic.self = cyclic;
  let deep: any = 1;
  for (let i = 0; i < 40; i += 1) deep = { deep };
  const cases: Record<string, () => unknown> = {
    'unknown option': () => field.tap({ timout: 5 }),
    'option of other tools': () => field.tap({ force: true }),
    'not an object': () => field.tap(5),
    'timeout': () => field.tap({ timeout: 0 }),
    'timeout fraction': () => field.tap({ timeout: 1.5 }),
    'fill a number': () => field.fill(5),
    'press nothing': () => field.press(''),
    'select by two': () => field.selectOption({ label: 'a', index: 1 }),
    'no files': () => field.setInputFiles([]),
    'a file that is none': () => field.setInputFiles(['']),
    'select negative': () => field.selectOption({ index: -1 }),
    'waitFor state': () => field.waitFor({ state: 'attached' }),
    'role': () => screen.getByRole('buton'),
    'two names': () => screen.getByRole('button', 'a', { name: 'b' }),
    'level': () => screen.getByRole('heading', { level: 7 }),
    'text': () => screen.getByText(5),
    'empty text': () => screen.getByText(''),
    'test id': () => screen.getByTestId(/x/),
    'nth': () => field.nth(-1),
    'filter nothing': () => field.filter({}),
    'filter key': () => field.filter({ hasNotText: 'x' }),
    'filter has': () => field.filter({ has: 'x' }),
    'display value': () => screen.getByDisplayValue('x'),
    'drag': () => field.dragTo(field),
    'goto': () => browser.goto(5),
    'route': () => browser.route('**', () => {}),
    'evaluate': () => browser.evaluate(() => 1),
    'restart': () => app.restart(),
    'fixture': () => fixtures.device,
    'goal empty': () => agent.act(' '),
    'goal long': () => agent.act('é'.repeat(4097)),
    'goal type': () => agent.act(5),
    'goal option': () => agent.act('x', { maxStep: 1 }),
    'goal schema': () => agent.act('x', { schema: {} }),
    'goal steps': () => agent.act('x', { maxSteps: 101 }),
    'params type': () => agent.act('x', { params: ['a'] }),
    'params cyclic': () => agent.act('x', { params: cyclic }),
    'params deep': () => agent.act('x', { params: deep }),
    'params large': () => agent.act('x', { params: { a: 'x'.repeat(70000) } }),
    'vision': () => agent.assert('x', { vision: 'also' }),
    'vision of a goal': () => agent.act('x', { vision: true }),
    'interval': () => agent.waitFor('x', { interval: 10 }),
    'no schema': () => agent.extract('x'),
    'foreign schema': () => agent.extract('x', { schema: { '~standard': {} } }),
    'matcher option': () => expect(field).toBeVisible({ timeOut: 5 }),
    'matcher subject': () => (expect(field) as any).toBe(1),
    'browser subject': () => (expect(browser) as any).toBeVisible(),
    'count': () => expect(field).toHaveCount(-1),
    'have text': () => expect(field).toHaveText(5 as any),
    'screenshot': () => (expect(field) as any).toHaveScreenshot(),
    'poll': () => expect.poll(5 as any),
    'poll option': () => expect.poll(() => 1, { intervals: 5 } as any),
    'secret unknown': () => secrets.get('admni'),
    'secret far': () => secrets.get('zebra'),
    'secret as text': () => `${secrets.get('admin')}`,
    'secret joined': () => field.fill(('x' + secrets.get('admin')) as any),
    'unique number': () => unique(5 as any),
    'skip misuse': () => (test.skip as any)('title', () => {}),
  };
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
      console.log(name, 'ALLOWED');
    } catch (error) {
      console.log(`${name} ${error.code ?? error.name}: ${error.message}`);
    }
  }
});
