// Promises that were rejected while nobody listened.

const unhandled = new Map();

/** Called by the interpreter. */
export function track(promise, reason, handled) {
  if (handled) unhandled.delete(promise);
  else unhandled.set(promise, reason);
}

/** Reasons so far, each once. */
export function takeUnhandled() {
  const reasons = [...new Set(unhandled.values())];
  unhandled.clear();
  return reasons;
}
