// A model that knows the right calls: an OpenAI-compatible server on 127.0.0.1 that answers Muster's
// requests from goals.mjs and tells how many tokens it was sent. `node oracle.mjs PORT-FILE`.
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { find, tokens } from './count.mjs';
import { GOALS } from './goals.mjs';

const text = (message) =>
  typeof message.content === 'string' ? message.content : (message.content ?? []).map((part) => part.text ?? '').join('\n');

function answer({ messages }) {
  const told = messages.filter((message) => message.role !== 'system').map(text);
  const goal = GOALS.find((goal) => told[0].includes(goal.goal));
  if (!goal) throw new Error(`no plan for ${told[0].slice(0, 200)}`);
  const refused = told.find((line) => /^(refused|failed)/.test(line));
  if (refused) throw new Error(`the plan of “${goal.goal}” was refused: ${refused}`);
  const turn = goal.turns[messages.filter((message) => message.role === 'assistant').length];
  if (!turn) return [['complete_step', { status: 'passed', summary: 'The screen shows what the goal asks for.' }]];
  return turn.map((step) => {
    const target = [...told].reverse().map((screen) => find(screen, step, /#(n\d+)\b/)).find(Boolean);
    if (!target) throw new Error(`“${goal.goal}”: no ${step.role} "${step.name}" in ${told.at(-1)}`);
    const value = step.value instanceof RegExp ? told[0].match(step.value)[1] : step.value;
    return ['act', { do: step.do, target, ...(value === undefined ? {} : { value }) }];
  });
}

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  try {
    const asked = JSON.parse(body);
    const calls = answer(asked).map(([name, input], index) => ({
      id: `call_${index}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }));
    const sent = tokens(asked.tools ?? []) + asked.messages.reduce((sum, { role, ...rest }) => sum + 4 + tokens(rest.tool_calls ?? '') + tokens(text(rest)), 0);
    if (process.env.ORACLE_LOG) console.error(JSON.stringify({ sent, tools: tokens(asked.tools ?? []), messages: asked.messages.map((message) => [message.role, tokens(text(message))]) }));
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        choices: [{ index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: calls } }],
        usage: { prompt_tokens: sent, completion_tokens: tokens(calls), total_tokens: sent + tokens(calls) },
      }),
    );
  } catch (error) {
    console.error(`oracle: ${error.message}`);
    response.statusCode = 400;
    response.end(JSON.stringify({ error: { message: error.message } }));
  }
});
server.listen(0, '127.0.0.1', () => writeFileSync(process.argv[2], String(server.address().port)));
