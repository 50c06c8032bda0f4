import { describe, expect, test } from 'muster';
import { row } from './support/shop';

describe('catalogue', () => {
  test('the first page lists everything', { tags: ['smoke'] }, async ({ app, screen, browser }) => {
    await app.open('/');
    await expect(browser).toHaveTitle('Everything for outside · Fernhill Outfitters');
    await expect(screen.getByRole('heading', 'Everything for outside')).toBeVisible();
    await expect(screen.getByRole('list', 'Products').getByRole('listitem')).toHaveCount(18);
  });

  test('what is out of stock can be hidden', async ({ app, screen, browser }) => {
    await app.open('/category/footwear');
    await expect(row(screen, 'Camp Sandals')).toContainText('Out of stock');
    await screen.getByLabel('In stock only').check();
    await expect(browser).toHaveURL(/in_stock=on/);
    await expect(screen.getByRole('link', 'Camp Sandals')).toBeHidden();
    await expect(screen.getByRole('link', 'Leather Hiking Boots')).toBeVisible();
  });

  test('a help answer opens', async ({ app, screen }) => {
    await app.open('/help');
    const answer = screen.getByText('Yes, in every store, for the price of the leather.');
    await expect(answer).toBeHidden();
    await screen.getByText('Do you repair boots?').tap();
    await expect(answer).toBeVisible();
  });

  test('a shelf is sorted by price', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await app.open('/');
    await agent.act('Open the Packs category, then sort by {order}', {
      params: { order: 'Price, low to high' },
    });
    await expect(screen.getByRole('list', 'Products').getByRole('link')).toHaveText([
      'Waterproof Dry Bag',
      'Day Backpack',
      'Trekking Poles',
      'Ridge Backpack',
    ]);
    await expect(screen.getByRole('heading', 'Packs')).toBeVisible();
  });
});
