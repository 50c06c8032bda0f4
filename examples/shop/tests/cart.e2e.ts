import { beforeEach, describe, expect, test } from 'muster';
import { putInCart, row } from './support/shop';

test('a product is added from the list', { tags: ['goal', 'smoke'] }, async ({ app, screen, agent, browser }) => {
  await app.open('/');
  await agent.act('Add the Wool Hiking Socks to the cart and open the cart');
  await expect(row(screen, 'Wool Hiking Socks').getByTestId('line-total')).toHaveText('£14.00');
  await expect(screen.getByRole('list', 'Cart items').getByRole('listitem')).toHaveCount(1);
  await expect(browser).toHaveURL('/cart');
});

describe('a cart with a mug and a hat', () => {
  beforeEach(async ({ app, screen }) => {
    await putInCart({ app, screen }, '/product/enamel-mug', 1);
    await putInCart({ app, screen }, '/product/sun-hat', 2);
    await app.open('/cart');
    await expect(screen.getByTestId('total')).toHaveText('£31.50');
  });

  test('survives a reload', async ({ screen, browser }) => {
    await browser.reload();
    await expect(row(screen, 'Enamel Mug')).toBeVisible();
    await expect(row(screen, 'Sun Hat')).toBeVisible();
  });

  test('keeps what the visitor decides not to remove', async ({ screen }) => {
    await row(screen, 'Sun Hat').getByRole('button', 'Remove').tap();
    const dialog = screen.getByRole('dialog', 'Remove this item?');
    await expect(dialog).toContainText('Sun Hat goes out of your cart.');
    await dialog.getByRole('button', 'Keep it').tap();
    await expect(dialog).toBeHidden();
    await expect(screen.getByTestId('total')).toHaveText('£31.50');
  });

  test('refuses a promotion code that has ended', async ({ screen }) => {
    await screen.getByLabel('Promotion code').fill('SUMMER');
    await screen.getByRole('button', 'Apply code').tap();
    await expect(screen.getByRole('alert')).toHaveText('The code SUMMER is not valid.');
    await expect(screen.getByTestId('discount')).toHaveCount(0);
  });

  test('takes another quantity', { tags: ['goal'] }, async ({ screen, agent }) => {
    await agent.act('Set the quantity of the Enamel Mug to {count} and update the cart', {
      params: { count: '3' },
    });
    await expect(row(screen, 'Enamel Mug').getByTestId('line-total')).toHaveText('£28.50');
    await expect(row(screen, 'Sun Hat').getByTestId('line-total')).toHaveText('£22.00');
    await expect(screen.getByTestId('total')).toHaveText('£50.50');
  });

  test('lets a product go', { tags: ['goal'] }, async ({ screen, agent }) => {
    await agent.act('Remove the Sun Hat from the cart and confirm');
    await expect(screen.getByTestId('total')).toHaveText('£9.50');
    await expect(screen.getByRole('list', 'Cart items').getByRole('listitem')).toHaveCount(1);
    await expect(row(screen, 'Enamel Mug')).toBeVisible();
  });

  test('gets cheaper by a promotion code', { tags: ['goal'] }, async ({ screen, agent }) => {
    await agent.act('Enter {code} as the promotion code and apply it', { params: { code: 'FERN10' } });
    await expect(screen.getByTestId('discount')).toHaveText('−£3.15');
    await expect(screen.getByTestId('total')).toHaveText('£28.35');
  });
});
