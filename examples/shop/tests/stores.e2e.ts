import { beforeEach, describe, expect, test } from 'muster';
import { logIn } from './support/shop';

describe('the store finder in its iframe', () => {
  beforeEach(async ({ app, screen }) => {
    await logIn({ app, screen });
    await app.open('/stores');
    await screen.getByLabel('Near').fill('Keswick');
  });

  test('knows which stores open on Sundays', async ({ screen }) => {
    await screen.getByLabel('Distance').selectOption('50 miles');
    await screen.getByLabel('Open on Sundays').check();
    await screen.getByRole('button', 'Find stores').tap();
    const stores = screen.getByRole('list', 'Stores').getByRole('listitem');
    await expect(stores).toHaveCount(3);
    await expect(stores.filter({ hasText: 'Grasmere' })).toHaveCount(0);
  });

  test('remembers a store', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await agent.act('Choose {distance} as the distance, find the stores and make Ambleside my store', {
      params: { distance: '50 miles' },
    });
    await expect(screen.getByText('Your store is Ambleside.')).toBeVisible();
    await app.open('/account');
    await expect(screen.getByTestId('my-store')).toHaveText('Ambleside');
  });
});
