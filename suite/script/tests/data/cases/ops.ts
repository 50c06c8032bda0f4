import { describe, expect, secrets, test, unique } from 'muster';

// Every call of the API that sends a step; the golden shows what is sent.

test('app and browser', async ({ app, browser }) => {
  await app.open();
  await app.open('/cart?x=1');
  await app.back();
  await app.clearState();
  await browser.goto('/login', { timeout: 900 });
  await browser.reload();
  await browser.back();
  await browser.forward();
  console.log(app.baseUrl, await browser.url(), await browser.title());
  await browser.waitForURL('/cart');
  await browser.waitForURL(/cart\?id=\d+/i, { timeout: 10 });
});

test('locators', async ({ screen }) => {
  const look = (locator: { count(): Promise<number> }) => locator.count();
  await look(screen.getByRole('button'));
  await look(screen.getByRole('button', 'Pay'));
  await look(screen.getByRole('img', { name: 'Logo', exact: false, visible: true }));
  await look(screen.getByRole('checkbox', /all/i, { checked: true, disabled: false }));
  await look(screen.getByRole('heading', { level: 2, selected: true, expanded: false, pressed: true }));
  await look(screen.getByLabel('E-mail'));
  await look(screen.getByText('sold', { exact: false }));
  await look(screen.getByPlaceholder(/search/, { visible: true }));
  await look(screen.getByTestId('cart', { visible: true }));
  const row = screen.getByRole('row').filter({ hasText: 'Socks', has: screen.getByText(/€/u) });
  await look(row.getByRole('button', 'Remove'));
  await look(row.first());
  await look(row.last());
  await look(row.nth(3));
});

test('actions', async ({ screen }) => {
  const field = screen.getByLabel('Name');
  await field.tap();
  await field.click({ timeout: 5 });
  await field.fill('Ada');
  await field.fill('');
  await field.fill(secrets.get('admin'), { timeout: 7 });
  await field.clear();
  await field.press('Control+A');
  await field.check();
  await field.uncheck();
  await field.selectOption('Red');
  await field.selectOption({ label: 'Red' });
  await field.selectOption({ value: 'r' });
  await field.selectOption({ index: 2 });
  await field.hover();
  await field.focus();
  await field.setInputFiles('fixtures/a.pdf');
  await field.setInputFiles(['a.pdf', 'b.pdf']);
  await field.scrollIntoView();
  await field.waitFor();
  await field.waitFor({ state: 'hidden', timeout: 3 });
});

test('reads', async ({ screen }) => {
  const field = screen.getByTestId('f');
  console.log(
    await field.textContent(),
    await field.inputValue(),
    await field.getAttribute('href'),
    await field.isEnabled(),
    await field.isChecked(),
    await field.isVisible(),
    await field.isHidden(),
    await field.count(),
    await field.allTextContents(),
    await field.boundingBox(),
    (await field.all()).length,
  );
});

test('checks', async ({ screen, browser }) => {
  const it = screen.getByTestId('f');
  await expect(it).toBeVisible();
  await expect(it).not.toBeVisible({ timeout: 2000 });
  await expect(it).toBeHidden();
  await expect(it).toBeAttached();
  await expect(it).toBeEnabled();
  await expect(it).toBeDisabled();
  await expect(it).toBeChecked();
  await expect(it).toBeSelected();
  await expect(it).toBeExpanded();
  await expect(it).toBeFocused();
  await expect(it).toHaveText('Total 12');
  await expect(it).toHaveText(['a', /b/]);
  await expect(it).toContainText('12', { timeout: 1 });
  await expect(it).toContainText(['1', '2']);
  await expect(it).toHaveValue(/x/);
  await expect(it).toHaveAttribute('href');
  await expect(it).toHaveAttribute('href', { timeout: 4 });
  await expect(it).toHaveAttribute('href', '/cart', { timeout: 4 });
  await expect(it).toHaveCount(3);
  await expect(it).toHaveAccessibleName('Pay');
  await expect(it).toHaveClass('active');
  await expect.soft(it).not.toBeChecked();
  await expect(browser).toHaveURL('/cart');
  await expect(browser).not.toHaveTitle(/Login/);
});

describe('goals', () => {
  test('act', async ({ agent }) => {
    const result = await agent.act('Add the socks to the cart');
    console.log(result);
    await agent.act('Register {mail}', {
      params: { mail: unique('ada@example.com'), list: ['x', { 'a/b~c': unique('x') }], password: secrets.get('admin') },
      timeout: 1000,
      maxSteps: 5,
      maxModelCalls: 6,
      agent: 'fast',
    });
  });

  test('judgments', async ({ agent }) => {
    await agent.assert('The cart is empty', { timeout: 9, agent: 'careful', vision: false });
    await agent.assert('The chart rises', { vision: true });
    await agent.waitFor('The order is shipped');
    await agent.waitFor('The order is shipped', { interval: 500, timeout: 60000, maxModelCalls: 3, vision: 'only' });
    const data = await agent.extract('the total', { schema: { type: 'object', properties: { total: { type: 'number' } } } });
    console.log(data);
  });
});
