import { connect, type Socket } from 'node:net';

/** An answer of the server under load. */
export type Reply = { readonly status: number; readonly head: string; readonly body: string };

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** A keep-alive connection that has one request in flight at a time: all that a closed loop needs, at a fraction of a client's cost. */
export class Connection {
  #socket: Socket;
  #buffer: Buffer = Buffer.alloc(0);
  #waiting: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | null = null;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (data) => this.#received(data));
    this.#socket.on('error', (error) => this.#waiting?.reject(error));
    this.#socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')));
  }

  /** Whether the server has hung up: on a connection that has been idle for long it does. */
  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  send(request: Buffer | string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.isClosed) return reject(new Error('the server closed the connection'));
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#waiting = null;
    this.#socket.destroy();
  }

  #received(data: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data]);
    const end = this.#buffer.indexOf(headEnd);
    if (end < 0) return;
    const head = this.#buffer.toString('latin1', 0, end);
    const start = end + 4;
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    let body: string;
    if (length !== undefined) {
      if (this.#buffer.length < start + Number(length)) return;
      body = this.#buffer.toString('utf8', start, start + Number(length));
    } else if (/\r\ntransfer-encoding: chunked/i.test(head)) {
      const last = this.#buffer.indexOf(lastChunk, start);
      if (last < 0) return;
      body = this.#buffer.toString('utf8', start, last);
    } else body = '';
    this.#buffer = Buffer.alloc(0);
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve({ status: Number(head.slice(9, 12)), head, body });
  }
}

/** One operation from its first request to its last answer; throws when an answer is wrong. */
export type Operation = (connection: Connection) => Promise<void>;

/** What a run of the loop gave; latencies in milliseconds, unsorted. */
export type Load = { readonly operations: number; readonly seconds: number; readonly latencies: number[] };

/** Runs each operation again and again on a connection of its own until the time is over. The first wrong answer ends the run. */
export async function closedLoop(port: number, operations: readonly Operation[], seconds: number): Promise<Load> {
  const started = performance.now();
  const end = started + seconds * 1000;
  const latencies: number[] = [];
  await Promise.all(
    operations.map(async (operation) => {
      const connection = new Connection(port);
      try {
        for (let now = performance.now(); now < end;) {
          await operation(connection);
          const then = performance.now();
          latencies.push(then - now);
          now = then;
        }
      } finally {
        connection.close();
      }
    }),
  );
  return { operations: latencies.length, seconds: (performance.now() - started) / 1000, latencies };
}

/** The text of a request; `fields` become a form. */
export function requestText(
  method: 'GET' | 'POST',
  path: string,
  headers: Readonly<Record<string, string>>,
  fields?: Readonly<Record<string, string>>,
): string {
  const body = fields === undefined ? '' : new URLSearchParams(fields).toString();
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  if (fields !== undefined) {
    lines.push(`Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`);
  }
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
