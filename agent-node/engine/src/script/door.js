// The one door: called by name with plain arguments, answers JSON. `from` is the lowest id that
// is free, so that ids go on counting across documents.

const calls = {
  snapshot: ([rules]) => snapshot(rules),
  find: ([locator, attribute]) => find(locator, attribute),
  where: () => ({ url: location.href, title: document.title }),
  ready: ([id, need, budget]) => ready(id, need, budget),
  arm: ([id, hit]) => arm(id, hit),
  disarm: () => disarm(),
  focus: ([id]) => giveFocus(id),
  scroll: ([id]) => scroll(id),
  scrollBy: ([id, direction]) => scrollBy(id, direction),
  hit: ([x, y]) => hit(x, y),
  spot: ([id]) => spot(id),
  select: ([id]) => select(id),
  read: ([id]) => read(id),
  assign: ([id, value]) => assign(id, value),
  offers: ([id, choice, budget]) => offers(id, choice, budget),
  sink: ([id, value, rules]) => sink(id, value, rules),
  mask: () => mask(),
  unmask: () => unmask(),
  fileField: ([id, count]) => fileField(id, count),
  choose: ([id, choice]) => choose(id, choice),
};

const door = async (call, args, from) => {
  nextId = Math.max(nextId, from);
  forget();
  try {
    const answer = await calls[call](args);
    return JSON.stringify({ next: nextId, answer });
  } catch (error) {
    if (error.invalid) return JSON.stringify({ next: nextId, invalid: error.message });
    throw error;
  } finally {
    forget();
  }
};

door.element = (id) => elementOf(id);

return door;
