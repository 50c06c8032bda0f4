// The native door: one call for steps, and console, timers, randomness and places beside it.
// `native` has what worker/door.rs and worker/web.rs put into it.

export const native = {};

export function connect(door) {
  Object.assign(native, door);
  delete native.connect;
}
