import type { Request, Response } from 'express';
import { worstFirst, type CheckResult, type Diagnosis } from '../../../domain/diagnostics/diagnose.js';
import { checks } from '../../../domain/diagnostics/checks/index.js';
import { diagnostics } from '../../../management/calls/diagnostics.js';
import { runEndpoint } from '../../../management/run-endpoint.js';
import type { Finding } from '../../parts/finding-parts.js';
import type { Part } from '../../parts/page-parts.js';
import type { Tone } from '../../parts/tone.js';
import type { Render } from '../../parts/render.js';
import { terms } from '../../parts/words.js';

const tones = {
  problem: ['bad', 'Problem'],
  warning: ['warning', terms.warning],
  notice: ['info', 'Notice'],
  skipped: ['quiet', 'Skipped'],
  ok: ['good', 'OK'],
} as const satisfies Record<CheckResult['level'], readonly [Tone, string]>;

/** Collections that have pages; records of other environments aren't on this dashboard. */
const shown = /^(?:webhooks|log_streams|connections|clients|signing_keys)\/[^/]+$/;

function findingOf({ id, level, finding, why, fix, look, subject }: CheckResult, index: number): Finding {
  const [tone, word] = tones[level];
  const path = subject !== null && shown.test(subject) ? `/dashboard/${subject}` : null;
  return { id: `finding-${index + 1}`, tone, word, check: checks[id].title, finding, why, fix, look, path };
}

const counted = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`;

function stateOf(results: readonly CheckResult[]): { tone: Tone; word: string } {
  const count = (level: CheckResult['level']) => results.filter((one) => one.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const both = [counted(problems, 'problem'), ...(warnings > 0 ? [counted(warnings, 'warning')] : [])];
  if (problems > 0) return { tone: 'bad', word: both.join(', ') };
  return warnings > 0 ? { tone: 'warning', word: counted(warnings, 'warning') } : { tone: 'good', word: 'Healthy' };
}

function partsOf(results: readonly CheckResult[]): Part[] {
  const problems = worstFirst(results).filter(({ level }) => level !== 'ok' && level !== 'skipped');
  const rest = results.filter(({ level }) => level === 'ok' || level === 'skipped');
  const rows = rest.map(({ id, level, finding }) => {
    const [tone, word] = tones[level];
    return { tone, word, check: checks[id].title, finding };
  });
  const findingsPart: Part[] = problems.length > 0 ? [{ kind: 'findings', items: problems.map(findingOf) }] : [];
  return [...findingsPart, { kind: 'well', title: problems.length > 0 ? 'Other checks' : 'Checks', items: rows }];
}

/** GET /dashboard/doctor: what is wrong with the installation, the worst first, with the fix to copy. For operators. */
export const doctorPage = (render: Render) => async (req: Request, res: Response) => {
  const { checks: results } = (await runEndpoint(req.call, diagnostics)) as unknown as Diagnosis;
  const state = stateOf(results);
  render(req, res, {
    title: terms.diagnostics,
    document_title: `${state.word} · Diagnostics`,
    lead: 'Checked just now. Nothing was changed or sent. If the service can’t start, run npm run -s doctor.',
    state: { kind: 'state', ...state },
    links: [{ label: 'Run again', path: '/dashboard/doctor', variant: 'quiet' }],
    parts: partsOf(results),
  });
};
