// What several files of this suite need: logging in, filling the cart, and goals that must be declined.
import { expect, secrets, type App, type Screen } from 'muster';

type Fixtures = { app: App; screen: Screen };

/** Logs in by exact steps. The password is a handle: this suite never sees its value. */
export async function logIn({ app, screen }: Fixtures) {
  await app.open('/login');
  await screen.getByLabel('Email').fill('ann@example.com');
  await screen.getByLabel('Password').fill(secrets.get('shop-password'));
  await screen.getByRole('button', 'Log in').tap();
  await expect(screen.getByRole('heading', 'Your account')).toBeVisible();
}

/** Puts one of a product without options into the cart. */
export async function putInCart({ app, screen }: Fixtures, path: string, total: number) {
  await app.open(path);
  await screen.getByTestId('add-to-cart').tap();
  await expect(screen.getByTestId('cart-count')).toHaveText(String(total));
}

/** A line of the cart, an order, an address: the list item that names it. */
export function row(screen: Screen, text: string) {
  return screen.getByRole('listitem').filter({ hasText: text });
}

/** Passes only if the goal ends without a verdict because nobody could tell what to do. */
export async function expectDeclined(goal: Promise<unknown>) {
  let outcome = { code: 'none', status: 'passed' };
  try {
    await goal;
  } catch (error: any) {
    outcome = { code: error.code, status: error.status };
  }
  expect(outcome).toEqual({ code: 'AUTOMATION_UNSUPPORTED', status: 'blocked' });
}
