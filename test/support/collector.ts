// A collector of traces: takes OTLP over HTTP as any other does, and reads the Protocol Buffers by itself, without the library that wrote them.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A span as it came over the wire. */
export type CollectedSpan = {
  readonly trace_id: string;
  readonly span_id: string;
  /** Empty for the first of a trace. */
  readonly parent_span_id: string;
  readonly name: string;
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT' | 'other';
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly { readonly trace_id: string; readonly span_id: string }[];
  readonly failed: boolean;
  readonly status_message: string;
  readonly events: number;
  readonly resource: Readonly<Record<string, string | number | boolean>>;
};

type Field = { readonly number: number; readonly value: bigint | Buffer };

/** The fields of a message (Protocol Buffers, "Encoding"). */
function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw new Error('the message is cut off');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => {
    if (at + length > message.length) throw new Error('the message is cut off');
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const key = Number(varint());
    const wire = key & 7;
    if (wire === 0) fields.push({ number: key >> 3, value: varint() });
    else if (wire === 1) fields.push({ number: key >> 3, value: bytes(8) });
    else if (wire === 2) fields.push({ number: key >> 3, value: bytes(Number(varint())) });
    else if (wire === 5) fields.push({ number: key >> 3, value: bytes(4) });
    else throw new Error(`wire type ${wire}`);
  }
  return fields;
}

const all = (message: Buffer, number: number) => fieldsOf(message).filter((field) => field.number === number);
const messages = (message: Buffer, number: number) => all(message, number).map(({ value }) => value as Buffer);
const textOf = (message: Buffer, number: number) => messages(message, number)[0]?.toString('utf8') ?? '';
const hexOf = (message: Buffer, number: number) => messages(message, number)[0]?.toString('hex') ?? '';
const numberOf = (message: Buffer, number: number) => Number((all(message, number)[0]?.value as bigint | undefined) ?? 0n);

/** AnyValue: string 1, bool 2, int 3, double 4. */
function anyValue(message: Buffer): string | number | boolean {
  const [field] = fieldsOf(message);
  if (field === undefined) return '';
  if (field.number === 1) return (field.value as Buffer).toString('utf8');
  if (field.number === 2) return field.value === 1n;
  if (field.number === 3) return Number(field.value);
  if (field.number === 4) return (field.value as Buffer).readDoubleLE();
  return (field.value as Buffer).toString('utf8');
}

const attributesOf = (message: Buffer, number: number) =>
  Object.fromEntries(messages(message, number).map((pair) => [textOf(pair, 1), anyValue(messages(pair, 2)[0] ?? Buffer.alloc(0))]));

const kinds: Readonly<Record<number, CollectedSpan['kind']>> = { 1: 'INTERNAL', 2: 'SERVER', 3: 'CLIENT' };

function spanOf(message: Buffer, resource: CollectedSpan['resource']): CollectedSpan {
  const [status = Buffer.alloc(0)] = messages(message, 15);
  return {
    trace_id: hexOf(message, 1),
    span_id: hexOf(message, 2),
    parent_span_id: hexOf(message, 4),
    name: textOf(message, 5),
    kind: kinds[numberOf(message, 6)] ?? 'other',
    attributes: attributesOf(message, 9),
    links: messages(message, 13).map((link) => ({ trace_id: hexOf(link, 1), span_id: hexOf(link, 2) })),
    failed: numberOf(status, 3) === 2,
    status_message: textOf(status, 2),
    events: messages(message, 11).length,
    resource,
  };
}

const spansOf = (request: Buffer): CollectedSpan[] =>
  messages(request, 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messages(resourceSpans, 1)[0] ?? Buffer.alloc(0), 1);
    return messages(resourceSpans, 2).flatMap((scope) => messages(scope, 2).map((span) => spanOf(span, resource)));
  });

/** How it answers: a status, or `hang`: never, as a collector that has stopped. */
export type CollectorReply = number | 'hang';

export type CollectorUnderTest = {
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** What came, as it came. */
  readonly bodies: Buffer[];
  readonly headers: Readonly<Record<string, unknown>>[];
  reply(with_: CollectorReply): void;
  close(): Promise<void>;
};

export async function startCollector(reply: CollectorReply = 200): Promise<CollectorUnderTest> {
  let answer = reply;
  const spans: CollectedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: Readonly<Record<string, unknown>>[] = [];
  const sockets = new Set<Socket>();
  const respond = (body: Buffer, res: ServerResponse) => {
    if (answer === 'hang') return;
    bodies.push(body);
    if (answer === 200) spans.push(...spansOf(body));
    res.writeHead(answer, { 'content-type': 'application/x-protobuf' }).end();
  };
  const server = createServer((req, res) => {
    headers.push({ ...req.headers, path: req.url });
    void buffer(req).then(
      (body) => respond(body, res),
      () => undefined,
    );
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    headers,
    reply(with_) {
      answer = with_;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
