import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';

export type ReceivedMail = { from: string; to: string[]; mail: Email };

export type TestSmtpServer = {
  readonly port: number;
  readonly received: ReceivedMail[];
  /** Answers recipients with this SMTP code from now on; 0 accepts them. */
  refuse(code: number): void;
  close(): Promise<void>;
};

/** A real SMTP server on a loopback port, 0 for a free one. */
export async function startSmtpServer(port = 0): Promise<TestSmtpServer> {
  const received: ReceivedMail[] = [];
  let refusal = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onRcptTo(_address, _session, callback) {
      callback(refusal === 0 ? null : Object.assign(new Error('refused'), { responseCode: refusal }));
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        void PostalMime.parse(Buffer.concat(chunks)).then((mail) => {
          received.push({ from: mailFrom === false ? '' : mailFrom.address, to: rcptTo.map(({ address }) => address), mail });
          callback();
        });
      });
    },
  });
  // A client that goes away in the middle is no failure of the test.
  server.on('error', () => undefined);
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    refuse(code) {
      refusal = code;
    },
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
