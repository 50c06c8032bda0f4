import { beforeEach, describe, expect, test, unique } from 'muster';
import { createPage, HOME, logIn, NEW_PAGE, row } from './support/admin';

describe('pages', () => {
  beforeEach(async ({ app, screen }) => {
    await logIn({ app, screen });
  });

  test('a draft is made', async ({ app, screen, agent }) => {
    const title = unique('Heather walks');
    await app.open(NEW_PAGE);
    await agent.act('Enter {title} as the title, open the Promote tab and save the draft', {
      params: { title },
    });
    await app.open(HOME);
    await expect(row(screen, title)).toContainText(/draft/i);
  });

  test('a draft gets another title and is published', async ({ app, screen, agent }) => {
    const [before, after] = [unique('Plans'), unique('News')];
    await createPage({ app, screen }, before);
    await screen.getByRole('tab', 'Content').tap();
    await agent.act('Change the title to {title}, open more actions and publish it', {
      params: { title: after },
    });
    await app.open(HOME);
    await expect(row(screen, after)).toContainText(/live/i);
    await expect(row(screen, before)).toHaveCount(0);
  });

  test('a page is found among others', async ({ app, screen, agent }) => {
    const [wanted, other] = [unique('Curlew'), unique('Lapwing')];
    await createPage({ app, screen }, wanted);
    await createPage({ app, screen }, other);
    await app.open(HOME);
    await expect(row(screen, other)).toBeVisible();
    await agent.act('Enter {query} as the search term', { params: { query: wanted } });
    await expect(row(screen, other)).toHaveCount(0);
    await expect(row(screen, wanted)).toBeVisible();
  });
});
