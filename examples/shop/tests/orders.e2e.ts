import { beforeEach, describe, expect, test } from 'muster';
import { logIn, row } from './support/shop';

describe('past orders', () => {
  beforeEach(async ({ app, screen }) => {
    await logIn({ app, screen });
    await app.open('/orders');
    await expect(screen.getByRole('heading', 'Your orders')).toBeVisible();
  });

  test('are listed, newest first', { tags: ['smoke'] }, async ({ screen }) => {
    const orders = screen.getByRole('list', 'Orders').getByRole('listitem');
    await expect(orders).toContainText(['Head Torch', 'Ridge Backpack', 'Wool Hiking Socks and 1 more']);
    await expect(orders.first()).toContainText(/ORD-[0-9A-Z]{5}, \d{1,2} [A-Z][a-z]+ \d{4}/);
  });

  test('show what was bought', async ({ screen }) => {
    await row(screen, 'Wool Hiking Socks').getByRole('link', 'View order').tap();
    const table = screen.getByRole('table', 'What you bought');
    await expect(table.getByRole('row').filter({ hasText: 'Enamel Mug' })).toContainText('£38.00');
    await expect(screen.getByTestId('status')).toHaveText('Delivered');
    await expect(screen.getByRole('button', 'Cancel order')).toHaveCount(0);
  });

  test('can be bought again', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await app.open('/');
    await agent.act('Open the orders, view the order with the Ridge Backpack and buy it again');
    await expect(screen.getByRole('list', 'Cart items').getByRole('link')).toHaveText(['Ridge Backpack']);
    await expect(screen.getByTestId('cart-count')).toHaveText('1');
  });

  test('can be cancelled while they wait', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await agent.act('View the order with the Head Torch, cancel it and confirm');
    await expect(screen.getByTestId('status')).toHaveText('Cancelled');
    await app.open('/orders');
    await expect(row(screen, 'Head Torch')).toContainText('Cancelled');
  });
});
