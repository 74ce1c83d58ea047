// `npx tsx bench/steps.ts DIR MICROSECONDS`: what a request's processor time goes to, from a profile that `npm run bench -- SCENARIO --only product --profile DIR`
// has written. MICROSECONDS is the event loop's time of an operation in that run. Prints a Markdown table.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { table } from './report.js';

type Frame = { readonly functionName: string; readonly url: string; readonly lineNumber: number; readonly columnNumber: number };
type Node = { readonly id: number; readonly callFrame: Frame; readonly children?: readonly number[] };
type Profile = { readonly nodes: readonly Node[]; readonly samples: readonly number[]; readonly timeDeltas: readonly number[] };

const maps = new Map<string, SourceMap | null>();

/** The source file of a frame of a bundle, from `src/` on; null for one of Node's or a package's. */
function sourceOf({ url, lineNumber, columnNumber }: Frame): string | null {
  if (!url.startsWith('file:') || url.includes('/node_modules/')) return null;
  let map = maps.get(url);
  if (map === undefined) {
    const file = `${fileURLToPath(url)}.map`;
    map = existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload) : null;
    maps.set(url, map);
  }
  const entry = map?.findEntry(lineNumber, columnNumber);
  return /src\/.*/.exec((entry as { originalSource?: string } | undefined)?.originalSource ?? url)?.[0] ?? null;
}

const packageOf = (url: string) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1] ?? null;

/** What each room of the source, and each package, is for; the first that fits. */
const steps: readonly (readonly [step: string, of: RegExp])[] = [
  ['statement', /^(?:pg.*|knex|tarn|postgres-.*|src\/db\/.*)$/],
  ['log and figures', /^(?:pino.*|sonic-boom|prom-client|src\/platform\/(?:log|metrics|spans|observability).*)$/],
  ['templates', /^(?:ejs|src\/lib\/templates.*|intl-messageformat)$/],
  ['limits', /limit/],
  ['routing', /^(?:router|express|path-to-regexp|parseurl|debug|vary|negotiator|accepts|send|src\/http\/(?:server|routing|middleware).*)$/],
  ['reading the request', /^(?:raw-body|content-type|type-is|body-parser|qs|src\/http\/request\/.*)$/],
  ['secrets and digests', /^(?:argon2|src\/lib\/(?:digest|random|seal).*|src\/platform\/(?:crypto|sealer).*)$/],
];

function stepOf(place: string): string {
  const named = steps.find(([, of]) => of.test(place))?.[0];
  return named ?? (place.startsWith('src/') ? place.split('/').slice(0, 3).join('/').replace(/\.ts$/, '') : `package ${place}`);
}

/** Self times by step, in the unit of the profile. The first half is left out: it is the warming up. */
function timesOf({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const stepsOf = new Map<number, string>();
  const find = (id: number | undefined, sends = false): string => {
    const frame = id === undefined ? undefined : frames.get(id);
    if (frame === undefined) return 'HTTP';
    if (frame.functionName === '(idle)' || frame.functionName === '(program)') return frame.functionName;
    if (frame.functionName === '(garbage collector)') return 'garbage collection';
    if (frame.functionName === 'signOneShot') return 'signature';
    const place = packageOf(frame.url) ?? sourceOf(frame);
    if (place === null) return find(parents.get(id as number), sends || /^node:(?:_http|net|internal\/stream)/.test(frame.url));
    const step = stepOf(place);
    // What writes to a socket from below the source is the answer, but for a statement's.
    return sends && place.startsWith('src/') && step !== 'statement' ? 'HTTP' : step;
  };
  const times = new Map<string, number>();
  for (let at = samples.length >> 1; at < samples.length - 300; at++) {
    const id = samples[at] as number;
    const step = stepsOf.get(id) ?? find(id);
    stepsOf.set(id, step);
    times.set(step, (times.get(step) ?? 0) + (timeDeltas[at] ?? 0));
  }
  times.delete('(idle)');
  return times;
}

const [folder = '', microseconds = ''] = process.argv.slice(2);
const [file] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
if (file === undefined || !(Number(microseconds) > 0))
  throw new Error('name a folder with a profile, and the microseconds of an operation');
const times = timesOf(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile);
const total = [...times.values()].reduce((sum, time) => sum + time, 0);
const rows = [...times]
  .map(([step, time]) => [step, (time / total) * Number(microseconds)] as const)
  .sort((one, other) => other[1] - one[1]);
console.log(table([['step', 'us'], ...rows.filter(([, us]) => us >= 0.3).map(([step, us]) => [step, us.toFixed(1)])]));
