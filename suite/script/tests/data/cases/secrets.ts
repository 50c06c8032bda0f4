import { expect, secrets, test } from 'muster';

test('a secret is a name, however one looks at it', async ({ screen, agent }) => {
  const admin = secrets.get('admin');
  console.log(admin, [admin], { admin }, JSON.stringify({ admin }), Object.keys(admin), admin.name);
  for (const print of [() => `${admin}`, () => String(admin), () => '' + admin, () => [admin].join()]) {
    try {
      console.log(print());
    } catch (error) {
      console.log(error.code, error.message);
    }
  }
  await screen.getByLabel('Password').fill(admin);
  await agent.act('Log in with {password}', { params: { password: admin } });
  expect.soft(admin).toBe('hunter22');
});
