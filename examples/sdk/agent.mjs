// SPDX-License-Identifier: Apache-2.0
// An agent's loop without the model: write a program, run it, read what went wrong, write a better one.
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Sandbox } from '../../sdk/typescript/src/index.js';

const out = process.env.OUT ?? join(dirname(fileURLToPath(import.meta.url)), 'out');
await mkdir(out, { recursive: true });

const data = 'name,score\nAda,91\nGrace,n/a\nAlan,84\n';
// What a model would answer: first a careless program, then one that has seen the traceback.
const drafts = [
  `rows = [line.split(',') for line in open('scores.csv').read().split()[1:]]
print('mean', sum(int(score) for _, score in rows) / len(rows))
`,
  `rows = [line.split(',') for line in open('scores.csv').read().split()[1:]]
good = [(name, int(score)) for name, score in rows if score.isdigit()]
open('clean.csv', 'w').writelines(f'{name},{score}\\n' for name, score in good)
print('mean', sum(score for _, score in good) / len(good))
`,
];

const sandbox = await Sandbox.create({ template: 'host', internet: false, labels: { example: 'sdk' } });
try {
  await sandbox.files.write('scores.csv', data);
  for (const [i, draft] of drafts.entries()) {
    await sandbox.files.write('program.py', draft);
    const result = await sandbox.commands.run(
      { cmd: 'python3', args: ['program.py'] },
      { timeoutMs: 30000, onStdout: (text) => process.stdout.write(text) },
    );
    console.log(`draft ${i + 1}: exit code ${result.exitCode} after ${result.durationMs} ms`);
    if (result.ok) break;
    console.log(`  ${result.stderr.trim().split('\n').at(-1)}`);
  }
  await sandbox.files.download('clean.csv', join(out, 'javascript.csv'));
} finally {
  await sandbox.kill();
}
