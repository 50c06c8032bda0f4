// What the one test of this worker is doing.

export const state = {
  /** 'idle', 'load' (a module registers its tests), 'run'. */
  phase: 'idle',
  /** The file that is loaded. */
  file: '',
  /** Address of the app, when a test runs. */
  baseUrl: '',
  /** Declared secrets; null while collecting, when any name is taken. */
  secrets: null,
  /** Failures of soft checks so far. */
  soft: [],
  /** Set by `test.skip()` in a body. */
  skipped: null,
};
