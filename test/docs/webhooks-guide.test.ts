// The snippets of docs/how-to/webhooks.md, run as they stand there.
import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { deliveryHeaders, serviceSignature, standardSignature } from '../../src/domain/webhooks/sign.js';
import { needs, pathOf, type Program } from '../support/programs.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const guide = await readFile('docs/how-to/webhooks.md', 'utf8');
const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
const body = JSON.stringify({ event: 'user.created', data: { first_name: 'Zoë', note: 'a "quoted"\\ line\nand another' } });
const genuine = serviceSignature(secret, body);
/** Each is refused: nothing, another body's, another case of prefix, cut short, another secret's. */
const forged = ['', serviceSignature(secret, `${body} `), genuine.slice(7), genuine.slice(0, -1), serviceSignature(`${secret}x`, body)];
const directory = directoryOfFile();

beforeAll(async () => {
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  await writeFile(join(directory, 'body'), body);
});

function snippet(heading: string): string {
  const found = new RegExp(`### ${heading}\n[\\s\\S]*?\`\`\`\\w+\n([\\s\\S]*?)\`\`\``).exec(guide)?.[1];
  if (found === undefined) throw new Error(`docs/how-to/webhooks.md has no snippet under ${heading}`);
  return found;
}

type Language = { heading: string; program: Program | 'node'; files: () => Record<string, string>; args: string[] };

const languages: Language[] = [
  {
    heading: 'Node',
    program: 'node',
    files: () => ({
      'verify.mjs': snippet('Node'),
      'main.mjs': `import { readFileSync } from 'node:fs'; import { verify } from './verify.mjs';
        const body = readFileSync('body'); console.log(process.argv.slice(3).map((header) => verify(process.argv[2], body, header)).join());`,
    }),
    args: ['main.mjs'],
  },
  {
    heading: 'Python',
    program: 'python3',
    files: () => ({
      'main.py': `${snippet('Python')}\nimport sys\nbody = open("body", "rb").read()\nprint(",".join(str(verify(sys.argv[1], body, h)).lower() for h in sys.argv[2:]))\n`,
    }),
    args: ['main.py'],
  },
  {
    heading: 'Go',
    program: 'go',
    files: () => ({
      'go.mod': 'module guide\n\ngo 1.20\n',
      'verify.go': snippet('Go').replace('package webhook', 'package main'),
      'main.go': `package main\n\nimport (\n"fmt"\n"os"\n"strings"\n)\n\nfunc main() {\nbody, _ := os.ReadFile("body")\nvar out []string
        for _, h := range os.Args[2:] { out = append(out, fmt.Sprint(Verify(os.Args[1], body, h))) }\nfmt.Println(strings.Join(out, ","))\n}\n`,
    }),
    args: ['run', '.'],
  },
  {
    heading: 'Ruby',
    program: 'ruby',
    files: () => ({
      'main.rb': `${snippet('Ruby')}\nbody = File.binread("body")\nputs ARGV[1..].map { |h| verify(ARGV[0], body, h) }.join(",")\n`,
    }),
    args: ['main.rb'],
  },
  {
    heading: 'PHP',
    program: 'php',
    files: () => ({
      'main.php': `${snippet('PHP')}\n$body = file_get_contents('body');\necho implode(',', array_map(fn ($h) => verify($argv[1], $body, $h) ? 'true' : 'false', array_slice($argv, 2)));\n`,
    }),
    args: ['main.php'],
  },
];

for (const { heading, program, files, args } of languages) {
  const run = program === 'node' ? test : needs(program);
  run(
    `the ${heading} snippet accepts what is genuine and nothing else`,
    async () => {
      for (const [name, text] of Object.entries(files())) await writeFile(join(directory, name), text);
      const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' };
      const command = program === 'node' ? process.execPath : pathOf(program);
      const ran = spawnSync(command, [...args, secret, genuine, ...forged], { cwd: directory, encoding: 'utf8', env });
      expect(ran.stderr).toBe('');
      expect(ran.stdout.trim()).toBe(['true', ...forged.map(() => 'false')].join());
    },
    120_000,
  );
}

test('every language has a snippet', () => {
  for (const { heading } of languages) expect(snippet(heading)).toContain('sha256=');
});

test('the snippet of the published library verifies with the same secret', async () => {
  await writeFile(join(directory, 'standard.mjs'), snippet('Standard Webhooks libraries'));
  const { verifyStandard } = (await import(join(directory, 'standard.mjs'))) as {
    verifyStandard: (secret: string, body: string, headers: Record<string, string>) => unknown;
  };
  const headers = deliveryHeaders(secret, null, 'user.created', { id: 'evt_1', timestamp: Math.floor(Date.now() / 1000), body });
  expect(verifyStandard(secret, body, headers)).toEqual(JSON.parse(body));
  expect(() => verifyStandard(secret, `${body} `, headers)).toThrow();
});

test('the test vector is right', () => {
  const vector = '{"event":"webhook.test"}';
  expect(guide).toContain(`\`sha256=${createHmac('sha256', secret).update(vector).digest('hex')}\``);
  expect(guide).toContain(`\`${standardSignature(secret, { id: 'evt_1', timestamp: 1773480413, body: vector })}\``);
});
