import { expect, test } from 'muster';
import { logIn } from './support/admin';

test('a wrong password is refused', async ({ app, screen, browser }) => {
  await app.open('/admin/');
  await screen.getByPlaceholder('Enter your username').fill('editor');
  await screen.getByPlaceholder('Enter password').fill('not this one');
  await screen.getByRole('button', 'Sign in').tap();
  await expect(screen.getByText("didn't match", { exact: false })).toBeVisible();
  await expect(browser).toHaveURL(/\/admin\/login\//);
});

test('the right one shows the dashboard', async ({ app, screen, browser }) => {
  await logIn({ app, screen });
  await expect(browser).toHaveURL('/admin/');
});
