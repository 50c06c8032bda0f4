// Timers over the native clock. The runner's own survive when a body is abandoned; the body's don't.

import { toProblem } from 'muster:errors';
import { native } from 'muster:host';

const running = new Map();
/** Problems of callbacks that threw. */
export const strayed = [];

export function start(callback, delay, { repeat = false, own = false } = {}) {
  const wait = Math.min(Math.max(Number(delay) || 0, 0), 2 ** 31 - 1);
  const id = native.timer(wait, own);
  running.set(id, { callback, own, wait, repeat });
  return id;
}

export function stop(id) {
  if (running.delete(id)) native.cancel(id);
}

/** Stops what a test started. */
export function stopTests() {
  for (const [id, timer] of running) if (!timer.own) stop(id);
}

/** A timer is due; called by the worker. */
export function fire(id) {
  const timer = running.get(id);
  if (!timer) return;
  if (timer.repeat) native.again(id, Math.max(timer.wait, 1));
  else running.delete(id);
  try {
    timer.callback();
  } catch (error) {
    strayed.push(toProblem(error));
  }
}

export function sleep(milliseconds) {
  return new Promise((resolve) => start(resolve, milliseconds));
}
