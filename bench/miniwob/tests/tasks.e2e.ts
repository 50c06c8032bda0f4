// One test a task and seed: the goal is the page's own text, and only the page's own reward passes it.
import { describe, expect, test } from 'muster';

const TASKS = [
  'choose-list', 'click-button', 'click-button-sequence', 'click-checkboxes', 'click-checkboxes-large',
  'click-checkboxes-soft', 'click-checkboxes-transfer', 'click-collapsible', 'click-collapsible-2', 'click-dialog',
  'click-dialog-2', 'click-link', 'click-menu', 'click-option', 'click-scroll-list', 'click-tab', 'click-tab-2',
  'click-tab-2-easy', 'click-tab-2-hard', 'click-test', 'click-test-2', 'click-test-transfer', 'click-widget',
  'email-inbox', 'email-inbox-delete', 'enter-date', 'enter-password', 'enter-text', 'enter-text-2',
  'enter-text-dynamic', 'enter-time', 'focus-text', 'focus-text-2', 'form-sequence-2', 'login-user',
  'login-user-popup', 'navigate-tree', 'search-engine', 'sign-agreement', 'use-autocomplete',
];

for (const task of TASKS) {
  describe(task, { tags: [task] }, () => {
    for (let seed = 0; seed < 10; seed += 1) {
      test(`seed ${seed}`, { tags: [`seed-${seed}`] }, async ({ app, screen, agent }) => {
        await app.open(`/${task}?seed=${seed}`);
        const query = screen.getByTestId('query');
        const goal = (await query.textContent())?.replace(/\s+/g, ' ').trim();
        await agent.act(goal ?? '');
        await expect(query).toHaveAttribute('data-reward', 'full', { timeout: 1000 });
      });
    }
  });
}
