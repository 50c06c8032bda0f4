// Goals and judgments.

import { integer, isPlain, milliseconds, options, text, timeout } from 'muster:args';
import { invalid, unsupported } from 'muster:errors';
import { done } from 'muster:locator';
import { step } from 'muster:step';
import { utf8Length } from 'muster:text';
import { isUnique } from 'muster:unique';

const MAX_INSTRUCTION = 8192;
const MAX_PARAMS = 64 * 1024;
const MAX_DEPTH = 32;
const CALL = { timeout: milliseconds, agent: text };
const JUDGMENT = { ...CALL, vision };
const VISION = new Map([[false, undefined], [true, 'also'], ['only', 'only']]);

/** Reaches goals and judges the screen. */
export class Agent {
  #scope;

  constructor(scope) {
    this.#scope = scope;
  }

  async act(goal, given) {
    const known = {
      ...CALL,
      params: plainObject,
      maxSteps: integer(1, 100),
      maxModelCalls: integer(1, 100),
    };
    const opts = options(given, 'agent.act()', known, ['vision', 'screenshot', 'schema']);
    return step(this.#scope, { op: 'agentAct', ...agentCall('agent.act()', goal, opts) });
  }

  async assert(statement, given) {
    const opts = options(given, 'agent.assert()', JUDGMENT, ['screenshot']);
    return done(await step(this.#scope, { op: 'agentAssert', ...agentCall('agent.assert()', statement, opts) }));
  }

  async waitFor(statement, given) {
    const known = { ...JUDGMENT, interval: integer(100, 60_000, 'milliseconds'), maxModelCalls: integer(1, 100) };
    const opts = options(given, 'agent.waitFor()', known, ['screenshot']);
    const op = { op: 'agentWaitFor', call: agentCall('agent.waitFor()', statement, opts) };
    if (opts.interval !== undefined) op.intervalMs = opts.interval;
    return done(await step(this.#scope, op));
  }

  async extract(what, given) {
    const opts = options(given, 'agent.extract()', { ...JUDGMENT, schema: jsonSchema }, ['screenshot']);
    if (opts.schema === undefined) throw invalid('agent.extract() takes { schema }, a JSON Schema');
    return step(this.#scope, {
      op: 'agentExtract',
      call: agentCall('agent.extract()', what, opts),
      schema: snapshot(opts.schema, 'schema'),
    });
  }
}

function agentCall(call, said, opts) {
  if (typeof said !== 'string') throw invalid(`${call} takes a text`);
  const instruction = said.normalize('NFC');
  const bytes = utf8Length(instruction);
  if (instruction.trim() === '' || bytes > MAX_INSTRUCTION) {
    throw invalid(`${call} takes a text of 1 to ${MAX_INSTRUCTION} bytes; this has ${bytes}`);
  }
  const result = { instruction, ...timeout(opts) };
  if (opts.params !== undefined) {
    result.params = snapshot(opts.params, 'params');
    const unique = [];
    pointers(result.params, '', unique);
    if (unique.length) result.unique = unique;
  }
  for (const key of ['agent', 'maxSteps', 'maxModelCalls']) if (opts[key] !== undefined) result[key] = opts[key];
  const seen = VISION.get(opts.vision);
  if (seen) result.vision = seen;
  return result;
}

function vision(value, what) {
  if (!VISION.has(value)) throw invalid(`${what} takes true, false or 'only'`);
}

function plainObject(value, what) {
  if (!isPlain(value)) throw invalid(`${what} takes an object`);
}

function jsonSchema(value, what) {
  if (typeof value === 'object' && value !== null && '~standard' in value) {
    throw unsupported('a schema of a validation library', 'give agent.extract() a JSON Schema object');
  }
  plainObject(value, what);
}

/** The JSON that `value` is now; later changes don't reach it. */
function snapshot(value, what) {
  let json;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    // Handles and our own errors speak for themselves; the engine's only says "circular".
    if (error.code) throw error;
    throw invalid(`${what} can't be written as JSON: ${error.message}`);
  }
  const bytes = utf8Length(json);
  if (bytes > MAX_PARAMS) throw invalid(`${what} has ${bytes} bytes of JSON; the most is ${MAX_PARAMS}`);
  const copy = JSON.parse(json);
  if (depth(copy) > MAX_DEPTH) throw invalid(`${what} is nested deeper than ${MAX_DEPTH}`);
  return copy;
}

function depth(value) {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depth));
}

/** JSON Pointers (RFC 6901) of the texts that unique() made. */
function pointers(value, at, found) {
  if (typeof value === 'string' && isUnique(value)) found.push(at);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    pointers(item, `${at}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, found);
  }
}
