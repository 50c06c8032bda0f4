import { expect, test, unique } from 'muster';
import { logIn, row } from './support/admin';

test('a collection is made in the settings', async ({ app, screen, agent }) => {
  const name = unique('Photographs');
  await logIn({ app, screen });
  await agent.act(
    'Open the settings, go to the collections, add a collection, enter {name} as its name, choose {parent} as the parent and create it',
    { params: { name, parent: 'Root' } },
  );
  await expect(row(screen, name)).toBeVisible();
  await app.open('/admin/collections/');
  await expect(row(screen, name)).toBeVisible();
});
