import { describe, expect, secrets, test } from 'muster';

describe('goals reached by words', () => {
  test('what was found goes into the cart', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await app.open('/');
    await agent.act('Search for {query}, open the Trail Running Shoes and press Add to cart', {
      params: { query: 'running' },
    });
    await expect(screen.getByTestId('cart-count')).toHaveText('1');
  });

  test('a product is opened', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await app.open('/category/camp');
    await agent.act('Open the Enamel Mug');
    await expect(screen.getByRole('heading', 'Enamel Mug')).toBeVisible();
  });

  test('a secret is typed by its name', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await app.open('/login');
    await agent.act('Enter {email} as the email, enter {password} as the password and press Log in', {
      params: { email: 'ann@example.com', password: secrets.get('shop-password') },
    });
    await expect(screen.getByText('Welcome back, Ann Fern.')).toBeVisible();
  });
});

describe('judgments made by words', () => {
  test('a statement and data', { tags: ['judged'] }, async ({ app, agent }) => {
    await app.open('/product/enamel-mug');
    await agent.assert('the page offers "Add to cart"');
    expect(await agent.extract('the heading', { schema: { type: 'string' } })).toBe('Enamel Mug');
  });
});

test('what words do not tell is declined', { tags: ['declined'] }, async ({ app, screen, agent }) => {
  await app.open('/category/camp');
  let code = 'none';
  try {
    await agent.act('Buy whatever costs least');
  } catch (error) {
    code = (error as { code: string }).code;
  }
  expect(code).toBe('AUTOMATION_UNSUPPORTED');
  await expect(screen.getByTestId('cart-count')).toHaveText('0');
});
