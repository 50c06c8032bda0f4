import { describe, expect, test } from 'muster';
import { row } from './support/shop';

describe('search', () => {
  test('finds products by several words', { tags: ['smoke'] }, async ({ app, screen, browser }) => {
    await app.open('/');
    await screen.getByRole('searchbox', 'Search the shop').fill('socks wool');
    await screen.getByRole('button', 'Search').tap();
    await browser.waitForURL(/\/search\?q=socks\+wool$/);
    await expect(screen.getByRole('list', 'Products').getByRole('link')).toHaveText([
      'Wool Hiking Socks',
    ]);
  });

  test('says so when nothing matches', async ({ app, screen }) => {
    await app.open('/');
    const field = screen.getByPlaceholder('Search the shop');
    await field.fill('umbrella');
    await field.press('Enter');
    await expect(screen.getByText('Nothing here matches.', { exact: false })).toBeVisible();
    await expect(screen.getByRole('searchbox', 'Search the shop')).toHaveValue('umbrella');
  });

  test('what was found goes into the cart', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await app.open('/');
    await agent.act('Search for {query}, open the Trail Running Shoes and add them to the cart', {
      params: { query: 'running' },
    });
    await expect(screen.getByTestId('cart-count')).toHaveText('1');
    await app.open('/cart');
    await expect(row(screen, 'Trail Running Shoes')).toContainText('£89.00');
  });
});
