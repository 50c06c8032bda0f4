// Goals that cannot be reached by looking at the screen alone: they need arithmetic, a comparison,
// or knowledge of the world. A decider without a model must say so and leave the shop as it was.
import { describe, expect, test } from 'muster';
import { expectDeclined, putInCart, row } from './support/shop';

describe('a goal that is declined', () => {
  test('compares prices', { tags: ['declined'] }, async ({ app, screen, agent }) => {
    await app.open('/category/camp');
    await expectDeclined(agent.act('Add whatever costs least to the cart'));
    await expect(screen.getByTestId('cart-count')).toHaveText('0');
  });

  test('does a sum', { tags: ['declined'] }, async ({ app, screen, agent }) => {
    await putInCart({ app, screen }, '/product/enamel-mug', 1);
    await app.open('/cart');
    await expectDeclined(agent.act('Double the quantity of everything and update the cart'));
    await expect(row(screen, 'Enamel Mug').getByLabel('Quantity')).toHaveValue('1');
    await expect(screen.getByTestId('cart-count')).toHaveText('1');
  });

  test('knows what colour a tomato has', { tags: ['declined'] }, async ({ app, screen, agent }) => {
    await app.open('/product/rain-jacket');
    await expectDeclined(agent.act('Choose the colour of a ripe tomato and add the jacket to the cart'));
    await expect(screen.getByLabel('Midnight Blue')).toBeChecked();
    await expect(screen.getByTestId('cart-count')).toHaveText('0');
  });

  test('names what is not on the screen', { tags: ['declined'] }, async ({ app, screen, agent, browser }) => {
    await app.open('/');
    await expectDeclined(agent.act('Open the paragliding course and book a place'));
    await expect(browser).toHaveURL('/');
    await expect(screen.getByRole('heading', 'Everything for outside')).toBeVisible();
  });
});
