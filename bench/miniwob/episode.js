// Plays one seeded episode of a MiniWoB page as an app would be used: no start button, no clock, no
// score on the screen. The page's own reward goes to the server and into an attribute that no
// observation shows.
addEventListener('load', () => {
  const task = location.pathname.slice(1);
  const seed = new URLSearchParams(location.search).get('seed');
  const query = document.getElementById('query');
  const end = core.endEpisode;

  core.EPISODE_MAX_TIME = 3600e3;
  core.endEpisode = (...args) => {
    const first = core.EP_TIMER !== null;
    end(...args);
    if (!first) return;
    query.setAttribute('data-reward', WOB_RAW_REWARD_GLOBAL > 0 ? 'full' : 'none');
    // Partial credit is no success: the goal names everything that is to be done.
    if (WOB_RAW_REWARD_GLOBAL > 0 && WOB_RAW_REWARD_GLOBAL < 1) query.setAttribute('data-reward', 'part');
    const over = document.createElement('p');
    over.setAttribute('role', 'status');
    over.textContent = 'The episode is over.';
    document.body.append(over);
    fetch('/reward', { method: 'POST', keepalive: true, body: JSON.stringify({ task, seed, reward: WOB_RAW_REWARD_GLOBAL }) });
  };
  core.startEpisode = () => {};
  for (const id of ['sync-task-cover', 'click-canvas', 'reward-display']) {
    const extra = document.getElementById(id);
    if (extra) extra.style.display = 'none';
  }
  query.setAttribute('data-testid', 'query');
  Math.seedrandom(seed);
  core.startEpisodeReal();
});
