import { beforeEach, describe, expect, test, type Screen } from 'muster';
import { putInCart, row } from './support/shop';

test('an empty cart cannot be checked out', async ({ app, screen, browser }) => {
  await app.open('/checkout/review');
  await expect(browser).toHaveURL('/cart');
  await expect(screen.getByText('Your cart is empty.')).toBeVisible();
});

describe('checking out a mug', () => {
  beforeEach(async ({ app, screen }) => {
    await putInCart({ app, screen }, '/product/enamel-mug', 1);
    await app.open('/cart');
    await screen.getByRole('link', 'Check out').tap();
    await expect(screen.getByRole('heading', 'Your address')).toBeVisible();
  });

  async function fillAddress(screen: Screen, town: string) {
    await screen.getByLabel('Full name').fill('Ann Fern');
    await screen.getByLabel('Email').fill('ann@example.com');
    await screen.getByLabel('Street').fill('1 Mill Lane');
    await screen.getByLabel('Town').fill(town);
    await screen.getByLabel('Postcode').fill('CA12 5AB');
    await screen.getByRole('button', 'Continue to delivery').tap();
  }

  test('says what the address lacks', { tags: ['smoke'] }, async ({ screen }) => {
    await screen.getByLabel('Email').fill('ann');
    await screen.getByRole('button', 'Continue to delivery').tap();
    await expect(screen.getByRole('alert').getByRole('listitem')).toHaveText([
      'Enter your full name.',
      'Enter an email address such as name@example.com.',
      'Enter a street and house number.',
      'Enter a town or city.',
      'Enter a postcode of 4 to 8 characters.',
    ]);
    await expect(screen.getByLabel('Email')).toHaveValue('ann');
    await expect(screen.getByLabel('Email')).toHaveAttribute('aria-invalid', 'true');
  });

  test('wants to know how to deliver', async ({ screen, browser }) => {
    await fillAddress(screen, 'Keswick');
    await expect(screen.getByRole('radio', 'Collect in store')).not.toBeChecked();
    await screen.getByRole('button', 'Continue to review').tap();
    await expect(screen.getByRole('alert')).toHaveText('Choose how you want to get your order.');
    await expect(browser).toHaveURL('/checkout/delivery');
  });

  test('goes on once the address is whole', { tags: ['goal'] }, async ({ screen, agent }) => {
    await fillAddress(screen, '');
    await expect(screen.getByRole('alert')).toContainText('Enter a town or city.');
    await agent.act('Enter {town} as the town and continue to delivery', {
      params: { town: 'Keswick' },
    });
    await expect(screen.getByRole('heading', 'Delivery')).toBeVisible();
    await expect(screen.getByRole('radio', 'Standard delivery')).toBeVisible();
  });

  test('ends in an order', { tags: ['goal', 'smoke'] }, async ({ app, screen, agent }) => {
    await fillAddress(screen, 'Keswick');
    await expect(screen.getByRole('heading', 'Delivery')).toBeVisible();
    await agent.act(
      'Choose express delivery, tick gift wrap, continue to the review, agree to the terms and place the order',
    );
    await app.open('/orders');
    await expect(row(screen, 'Enamel Mug')).toContainText('£17.00');
    await row(screen, 'Enamel Mug').getByRole('link', 'View order').tap();
    await expect(screen.getByText('Express delivery, £7.50, gift-wrapped')).toBeVisible();
    await expect(screen.getByTestId('order-id')).toHaveText(/^ORD-[0-9A-Z]{5}$/);
  });
});
