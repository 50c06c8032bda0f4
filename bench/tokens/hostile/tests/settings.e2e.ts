import { expect, test } from 'muster';

test('the weekly report is turned on', { tags: ['goal'] }, async ({ app, screen, agent }) => {
  await app.open('/');
  await agent.act('Turn the weekly report on and save the settings');
  await expect(screen.getByRole('status')).toHaveText('Settings saved.');
  await expect(screen.getByRole('checkbox', 'Weekly report')).toBeChecked();
});
