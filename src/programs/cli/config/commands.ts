import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { readDocument } from '../../../management/configuration/read-document.js';
import { CliError, openApi, type ServiceError } from '../api.js';
import { present, type Shell } from '../shell.js';
import { structured } from '../output.js';
import { visible, visibleLines } from '../visible.js';
import { countOf, answerText, type AnswerKind, type ConfigChanges } from './answer.js';
import { workflowOf } from './github.js';
import { parseLocated, positionOfPointer, plainOf, type Located } from './located.js';
import { readPlan, requireSamePlan, writePlan, type PlanFile } from './plan-file.js';
import { readFiles, resolveSecrets } from './read-files.js';
import { withSecretsFile } from './secrets-out.js';

/** What the process ends with: 0 there is nothing to do, or it is done; 1 it was refused; 2 there are changes. */
const changesFound = 2;

const collect = (value: string, earlier: string[] = []) => [...earlier, value];
const prefix = '/meta/document';

/** Tells each problem at its line; for a workflow also as annotations. @throws {CliError} */
function refuseAll(document: Located, errors: readonly ServiceError[], { variables, print }: Shell): never {
  const workflow = workflowOf(variables, print);
  const lines = errors.map(({ code, detail, source }) => {
    const pointer = typeof source?.['pointer'] === 'string' ? source['pointer'] : '';
    const position = positionOfPointer(document, pointer.startsWith(prefix) ? pointer.slice(prefix.length) : '');
    const text = `${visible(detail ?? '')} (${code})`;
    workflow?.error(position, text);
    return `${visible(position.file)}:${position.line}: ${text}`;
  });
  throw new CliError(lines.join('\n'));
}

/** Sends a document, and tells what is refused of it where it stands. @throws {CliError} */
async function send(shell: Shell, document: Located, path: string, meta: Record<string, unknown>): Promise<ConfigChanges> {
  try {
    const call = openApi(shell.options());
    return (await call('POST', path, { document: { meta } })).meta as unknown as ConfigChanges;
  } catch (error) {
    if (!(error instanceof CliError) || !error.errors.some(({ source }) => source?.['pointer'])) throw error;
    return refuseAll(document, error.errors, shell);
  }
}

/** Shows what was answered, as text or as JSON without secrets, and to a workflow. */
async function tell(shell: Shell, what: AnswerKind, answer: ConfigChanges): Promise<void> {
  const json = shell.output() === 'json';
  const secrets = answer.secrets?.map(({ kind, key, attribute }) => ({ kind, key, attribute }));
  shell.print(json ? await structured('json', { ...answer, ...(secrets && { secrets }) }) : visibleLines(answerText(what, answer)));
  await workflowOf(shell.variables, shell.print)?.summary(what, answer);
}

type Sent = { readonly document: Located; readonly plain: PlanFile['document']; readonly meta: Record<string, unknown> };

async function prepared(document: Located, prune: boolean, { variables }: Shell): Promise<Sent> {
  const plain = plainOf(document) as PlanFile['document'];
  return { document, plain, meta: { document: plain, secrets: await resolveSecrets(document, variables), prune } };
}

function addExport(config: Command, shell: Shell): void {
  config
    .command('export')
    .description('print the environment as a document; secrets are references to environment variables')
    .option('-o, --output <file>', 'write it there')
    .action(async ({ output }: { output?: string }) => {
      const access = shell.options();
      const { meta } = await openApi(access)('GET', '/config');
      const text =
        shell.output() === 'json'
          ? await structured('json', meta['document'])
          : `# yaml-language-server: $schema=${access.url}/api/config/schema.json\n${await structured('yaml', meta['document'])}`;
      if (output === undefined) shell.print(text);
      else await writeFile(output, `${text}\n`);
    });
}

function addPlan(config: Command, shell: Shell): void {
  config
    .command('plan')
    .description('say what applying would do; ends with 2 when that is something')
    .option('-f, --file <file>', 'the document; further ones are laid over it by key', collect)
    .option('--prune', 'delete what the collections of the document do not have')
    .option('--out <file>', 'keep the plan for apply --plan')
    .action(async ({ file = [], prune = false, out }: { file?: string[]; prune?: boolean; out?: string }) => {
      const sent = await prepared(await readFiles(file), prune, shell);
      const answer = await send(shell, sent.document, '/config/plan', sent.meta);
      if (out !== undefined) await writePlan(out, sent.plain, prune, answer);
      await tell(shell, 'Plan', answer);
      if (countOf(answer) > 0) shell.exit(changesFound);
    });
}

type ApplyOptions = { file?: string[]; plan?: string; prune?: boolean; secretsOut?: string };

/** What is to be applied: files, or a plan as it was kept. @throws {CliError} */
async function toApply({ file, plan, prune }: ApplyOptions, shell: Shell): Promise<{ sent: Sent; planned: PlanFile | null }> {
  if (plan === undefined) return { sent: await prepared(await readFiles(file ?? []), prune ?? false, shell), planned: null };
  if (file || prune !== undefined) throw new CliError('a plan says itself what is applied: leave out -f and --prune');
  const planned = await readPlan(plan);
  const document = parseLocated(JSON.stringify(planned.document), plan);
  return { sent: await prepared(document, planned.prune, shell), planned };
}

function addApply(config: Command, shell: Shell): void {
  config
    .command('apply')
    .description('make the environment what a document says, or a plan that was kept: that or nothing')
    .option('-f, --file <file>', 'the document; further ones are laid over it by key', collect)
    .option('--plan <file>', 'a plan that plan --out has written')
    .option('--prune', 'delete what the collections of the document do not have')
    .option('--secrets-out <file>', 'a new file for secrets that nobody gave and applying makes')
    .action(async (given: ApplyOptions) => {
      const { sent, planned } = await toApply(given, shell);
      const { document, meta } = sent;
      const answer = await send(shell, document, '/config/plan', { ...meta, ...present({ expected_state: planned?.state }) });
      if (planned) requireSamePlan(planned, answer);
      // Also without changes: the document is what drift is compared with.
      const done = await withSecretsFile(given.secretsOut ?? null, answer, () =>
        send(shell, document, '/config/apply', { ...meta, expected_state: answer.state }),
      );
      await tell(shell, 'Applied', done);
    });
}

function addDrift(config: Command, shell: Shell): void {
  config
    .command('drift')
    .description('say what was changed since a document was applied, by whom and when; ends with 2 when something was')
    .action(async () => {
      const { meta } = await openApi(shell.options())('GET', '/config/drift');
      const answer = meta as unknown as ConfigChanges & { applied: unknown };
      if (answer.applied === null) shell.print('no document was applied yet');
      else await tell(shell, 'Drift', answer);
      if (countOf(answer) > 0) shell.exit(changesFound);
    });
}

function addValidate(config: Command, shell: Shell): void {
  config
    .command('validate')
    .description('check a document by itself, without a service')
    .option('-f, --file <file>', 'the document; further ones are laid over it by key', collect)
    .action(async ({ file = [] }: { file?: string[] }) => {
      const document = await readFiles(file);
      const { problems } = await readDocument(plainOf(document), 'environment');
      if (problems.length > 0) refuseAll(document, problems as readonly ServiceError[], shell);
      shell.print('the document is well-formed');
    });
}

export function addConfig(config: Command, shell: Shell): void {
  for (const add of [addExport, addPlan, addApply, addDrift, addValidate]) add(config, shell);
}
