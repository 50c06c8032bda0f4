import { expect, secrets, type App, type Screen } from 'muster';

type Fixtures = { app: App; screen: Screen };

/** The site's home page, under which new pages are made. */
export const HOME = '/admin/pages/3/';
/** The form for one. */
export const NEW_PAGE = '/admin/pages/add/home/homepage/3/';

/** Logs in by exact steps; the password is a handle whose value stays on the node. */
export async function logIn({ app, screen }: Fixtures) {
  await app.open('/admin/login/');
  await screen.getByPlaceholder('Enter your username').fill('editor');
  await screen.getByPlaceholder('Enter password').fill(secrets.get('wagtail-password'));
  await screen.getByRole('button', 'Sign in').tap();
  await expect(screen.getByRole('heading', 'Site summary')).toBeVisible();
}

/** Makes a draft and ends on its edit page. */
export async function createPage({ app, screen }: Fixtures, title: string) {
  await app.open(NEW_PAGE);
  await screen.getByRole('textbox', 'Title*').fill(title);
  // The slug is made from the title when that loses the focus.
  await screen.getByRole('tab', 'Promote').tap();
  await expect(screen.getByRole('textbox', 'Slug*')).toHaveValue(/./);
  await screen.getByRole('button', 'Save draft').tap();
  await expect(screen.getByRole('heading', `Editing Home page: ${title}`)).toBeVisible();
}

/** The line of a page or a collection in its table. */
export function row(screen: Screen, title: string) {
  return screen.getByRole('row').filter({ hasText: title });
}
