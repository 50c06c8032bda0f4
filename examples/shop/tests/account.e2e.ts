import { describe, expect, test, unique } from 'muster';
import { logIn } from './support/shop';

test('a wrong password is refused', async ({ app, screen }) => {
  await app.open('/login');
  await screen.getByLabel('Email').fill('ann@example.com');
  await screen.getByLabel('Password').fill('not this one');
  await screen.getByRole('button', 'Log in').tap();
  await expect(screen.getByRole('alert')).toHaveText('The email or the password is not right.');
  await expect(screen.getByLabel('Email')).toHaveValue('ann@example.com');
});

test('the account asks to log in', async ({ app, screen, browser }) => {
  await app.open('/account/addresses');
  await expect(screen.getByRole('heading', 'Log in')).toBeVisible();
  await expect(browser).toHaveURL('/login?next=/account/addresses');
});

describe('the account', () => {
  test('logs in and out', { tags: ['smoke'] }, async ({ app, screen }) => {
    await logIn({ app, screen });
    await expect(screen.getByText('Welcome back, Ann Fern.')).toBeVisible();
    await screen.getByRole('button', 'Log out').tap();
    await expect(screen.getByText('You are logged out.')).toBeVisible();
    await app.open('/account');
    await expect(screen.getByRole('heading', 'Log in')).toBeVisible();
  });

  test('takes a new name and the newsletter', { tags: ['goal'] }, async ({ app, screen, agent, browser }) => {
    const name = unique('Ann');
    await logIn({ app, screen });
    await app.open('/');
    await agent.act('Open the account, change the display name to {name}, tick the newsletter and save the changes', {
      params: { name },
    });
    await expect(screen.getByTestId('who')).toHaveText(name);
    await browser.reload();
    await expect(screen.getByTestId('who')).toHaveText(name);
    await expect(screen.getByRole('checkbox', 'Newsletter')).toBeChecked();
  });

  test('takes another favourite activity', { tags: ['goal'] }, async ({ app, screen, agent }) => {
    await logIn({ app, screen });
    await agent.act('Choose {activity} as the favourite activity and save the changes', {
      params: { activity: 'Climbing' },
    });
    await app.open('/account');
    await expect(screen.getByLabel('Favourite activity')).toHaveValue('Climbing');
  });
});
