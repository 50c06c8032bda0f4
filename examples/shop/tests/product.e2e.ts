import { describe, expect, test, unique } from 'muster';
import { row } from './support/shop';

describe('product', () => {
  test('a quantity of none is refused', async ({ app, screen }) => {
    await app.open('/product/head-torch');
    await screen.getByLabel('Quantity').fill('0');
    await screen.getByRole('button', 'Add to cart').tap();
    await expect(screen.getByRole('alert')).toHaveText('Enter a quantity between 1 and 20.');
    await expect(screen.getByTestId('cart-count')).toHaveText('0');
  });

  test('what is out of stock cannot be added', async ({ app, screen }) => {
    await app.open('/product/two-person-tent');
    await expect(screen.getByText('Out of stock')).toBeVisible();
    await expect(screen.getByTestId('add-to-cart')).toHaveCount(0);
  });

  test('the rating in its shadow root asks for a number', async ({ app, screen }) => {
    await app.open('/product/sun-hat');
    await screen.getByRole('button', 'Send rating').tap();
    await expect(screen.getByText('Choose a number of stars first.')).toBeVisible();
    await screen.getByLabel('2 stars').check();
    await screen.getByRole('button', 'Send rating').tap();
    await expect(screen.getByText('You gave it 2 of 5.')).toBeVisible();
  });

  test('size and colour go into the cart', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await app.open('/category/clothing');
    await agent.act('Open the Rain Jacket, choose size {size}, choose Forest Green and add it to the cart', {
      params: { size: 'Large' },
    });
    await expect(screen.getByTestId('cart-count')).toHaveText('1');
    await app.open('/cart');
    await expect(row(screen, 'Rain Jacket')).toContainText('Size Large, Forest Green');
  });

  test('a rating is kept', { tags: ['goal'] }, async ({ app, screen, agent, browser }) => {
    await app.open('/category/camp');
    await agent.act('Open the Enamel Mug, choose 4 stars and send the rating');
    await expect(screen.getByText('You gave it 4 of 5.')).toBeVisible();
    await browser.reload();
    await expect(screen.getByRole('heading', 'Enamel Mug')).toBeVisible();
    await expect(screen.getByText('You gave it 4 of 5.')).toBeVisible();
  });

  test('a review is published', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    const review = unique('Kept my head dry');
    await app.open('/product/sun-hat');
    await agent.act('Write {review} as your review and post it', { params: { review } });
    await expect(screen.getByRole('list', 'Reviews').getByRole('listitem')).toHaveText([review]);
  });
});
