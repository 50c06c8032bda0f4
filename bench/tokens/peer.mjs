// The same goals through @playwright/mcp: `node peer.mjs BROWSER SHOP-COMMAND…` starts a fresh shop
// and a fresh server for each goal and prints one JSON line a goal: `{goal, calls, tokens}`.
//
// Its model is the same oracle: it is sent the server's tools, the goal and all earlier calls with
// their results, and knows the right calls. A result that names a snapshot's file counts with the
// snapshot in it, as if the file were read for free; without that each action would need a further
// call. What leads to a goal's start is done but not counted; the start's own snapshot is.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { find, tokens } from './count.mjs';
import { GOALS } from './goals.mjs';

const [browser, ...shop] = process.argv.slice(2);
const here = import.meta.dirname;

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

async function started(command, port) {
  const child = spawn(command[0], command.slice(1), { stdio: 'ignore' });
  for (const end = Date.now() + 20_000; Date.now() < end; ) {
    const answers = await fetch(`http://127.0.0.1:${port}/`).then((response) => response.ok, () => false);
    if (answers) return child;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${command.join(' ')} does not answer`);
}

class Mcp {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'muster-peer-'));
    const options = ['--headless', '--no-sandbox', '--isolated', '--executable-path', browser];
    this.child = spawn(join(here, 'node_modules/.bin/playwright-mcp'), options, { cwd: this.folder, stdio: ['pipe', 'pipe', 'ignore'] });
    this.waiting = new Map();
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const answer = JSON.parse(line);
      this.waiting.get(answer.id)?.(answer);
    });
  }

  ask(method, params) {
    const id = this.waiting.size + 1;
    return new Promise((done, failed) => {
      const late = setTimeout(() => failed(new Error(`${method} was not answered in 30 s`)), 30_000);
      this.waiting.set(id, ({ error, result }) => {
        clearTimeout(late);
        if (error) failed(new Error(error.message));
        else done(result);
      });
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  async call(name, input) {
    const result = await this.ask('tools/call', { name, arguments: input });
    const text = result.content.map((part) => part.text ?? '').join('\n');
    if (result.isError) throw new Error(`${name} ${JSON.stringify(input)}: ${text}`);
    return text.replace(/\[Snapshot\]\(([^)]+)\)/g, (_, file) => readFileSync(join(this.folder, file), 'utf8'));
  }
}

/** Its call for a step of the plan. */
function call(step, screens, goal, origin) {
  if (step.do === 'open') return ['browser_navigate', { url: origin + step.path }];
  const target = [...screens].reverse().map((screen) => find(screen, step, /\[ref=(\w+)\]/)).find(Boolean);
  if (!target) throw new Error(`“${goal}”: no ${step.role} "${step.name}" in ${screens.at(-1)}`);
  const value = step.value instanceof RegExp ? 'Something new' : step.value;
  switch (step.do) {
    case 'type':
      return ['browser_type', { target, text: value }];
    case 'select':
      return ['browser_select_option', { target, values: [value] }];
    default:
      return ['browser_click', { target }];
  }
}

for (const { app, goal, start, turns } of GOALS) {
  const port = await freePort();
  const command = app === 'shop' ? [...shop, '--listen', `127.0.0.1:${port}`] : ['node', join(here, 'hostile/serve.mjs'), String(port)];
  const child = await started(command, port);
  const mcp = new Mcp();
  try {
    await mcp.ask('initialize', { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'muster-bench', version: '1' } });
    const { tools } = await mcp.ask('tools/list', {});
    const screens = [];
    for (const turn of start) {
      for (const step of turn) screens.push(await mcp.call(...call(step, screens, goal, `http://127.0.0.1:${port}`)));
    }
    const first = await mcp.call('browser_snapshot', {});
    // What the model is sent grows by each call and its result; nothing is taken back.
    let sent = tokens(tools) + tokens(goal) + tokens(first);
    let total = 0;
    const seen = [first];
    for (const turn of turns) {
      total += sent;
      for (const step of turn) {
        const [name, input] = call(step, seen, goal, '');
        const result = await mcp.call(name, input);
        seen.push(result);
        sent += tokens({ name, input }) + tokens(result);
      }
    }
    // One more call says that it is done, as with Muster.
    console.log(JSON.stringify({ goal, calls: turns.length + 1, tokens: total + sent }));
  } finally {
    mcp.child.kill();
    child.kill();
  }
}
