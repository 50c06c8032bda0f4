import { expect, test, unique } from 'muster';

test('fits the shape and is remembered', async ({ agent }) => {
  const mail = unique('ada.lovelace@example.com');
  const phone = unique('+4930123456');
  const title = unique('Weekend list');
  const slug = unique('weekend-list');
  expect(mail).toMatch(/^ada\.lovelace-[a-z0-9]{8}@example\.com$/);
  expect(phone).toMatch(/^\+4930123456\d{8}$/);
  expect(title).toMatch(/^Weekend list [a-z0-9]{8}$/);
  expect(slug).toMatch(/^weekend-list-[a-z0-9]{8}$/);
  expect(unique('a')).not.toBe(unique('a'));
  await agent.act('x', { params: { mail, same: mail, plain: 'x', part: `${mail}!`, deep: { '': [title] } } });
});
