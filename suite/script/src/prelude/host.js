// The native door: one call for steps, and console, timers, randomness and places beside it.
// `native` has send, place, log, timer, cancel, random, finish, url, setUrl, query, encode, decode.

export const native = {};

export function connect(door) {
  Object.assign(native, door);
  delete native.connect;
}
