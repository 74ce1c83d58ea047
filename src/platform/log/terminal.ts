import type { DestinationStream } from 'pino';
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];
type Line = Readonly<Record<string, unknown>> & {
  readonly level: number;
  readonly time: number;
  readonly event: string;
  readonly msg: string;
};

/** What programs look for and a person at a terminal doesn't; LOG_FORMAT=json shows it. */
const unseen = new Set(['embedded_postgres.started', 'secret_key.in_use', 'secret_key.unused']);

const levels: Readonly<Record<number, readonly [name: string, style: Style]>> = {
  20: ['debug', 'gray'],
  40: ['warning', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
};

const statusStyles: readonly Style[] = ['green', 'green', 'green', 'cyan', 'yellow', 'red'];

/** What somebody else has sent can't move the cursor, nor begin a line. */
const visible = (text: string) => text.replace(/\p{C}/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);

const shown = (value: unknown) => visible(typeof value === 'string' ? value : JSON.stringify(value));

/** Makes lines for people of the log's JSON lines: one for each request, one for everything else, and the stack of an error below it. */
export function createTerminalLines(isColored: boolean): (json: string) => string {
  const paint = (style: Style, text: string) => (isColored ? styleText(style, text, { validateStream: false }) : text);

  function requestOf({ status, method, path, ms, request_id, aborted }: Line): string {
    const code = Number(status);
    const answered = aborted === true ? 'client gone' : `${Math.round(Number(ms))} ms`;
    return [
      paint(statusStyles[Math.floor(code / 100)] ?? 'red', String(code)),
      `${shown(method)} ${shown(path)}`,
      // By it the trace of a refusal is found.
      paint('gray', code < 400 ? answered : `${answered}  ${shown(request_id)}`),
    ].join('  ');
  }

  function noteOf({ level, time: _time, event, msg, err, ...members }: Line): string {
    const [name, style] = levels[level] ?? [];
    const about = Object.entries(members).flatMap(([member, value]) => (value === null ? [] : [`${member}=${shown(value)}`]));
    const stack = (err as { stack?: string } | undefined)?.stack?.split('\n').map((line) => `\n    ${visible(line)}`) ?? [];
    return (
      [...(name && style ? [paint(style, name)] : []), visible(msg), paint('gray', [event, ...about].join(' '))].join('  ') + stack.join('')
    );
  }

  return (json) => {
    const line = JSON.parse(json) as Line;
    if (unseen.has(line.event)) return '';
    // Written by the start itself: several lines, of nothing but the configuration.
    if (line.event === 'service.ready') return `${line.msg}\n`;
    const time = new Date(line.time).toTimeString().slice(0, 8);
    return `${paint('gray', time)}  ${line.event === 'http.request' ? requestOf(line) : noteOf(line)}\n`;
  };
}

/** Passes on the lines of a log as people read them. */
export function forTerminal(to: DestinationStream, isColored: boolean): DestinationStream {
  const lines = createTerminalLines(isColored);
  return { write: (json) => to.write(lines(json)) };
}
