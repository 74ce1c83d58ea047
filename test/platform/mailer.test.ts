import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerEnvelope } from 'smtp-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMailer, InvalidMailError, isPermanentMailError, type Mailer, type MailMessage } from '../../src/platform/mailer.js';
import { selfSigned } from '../support/certificates.js';

type Received = { envelope: SMTPServerEnvelope; raw: string; mail: Email; secure: boolean };

/** A real SMTP server; `refuse` answers each recipient with a code. */
async function mailServer({ secure = false, refuse = 0 }: { secure?: boolean; refuse?: number } = {}) {
  const received: Received[] = [];
  let connections = 0;
  const { cert, key } = selfSigned({ name: 'localhost' });
  const server = new SMTPServer({
    authOptional: true,
    secure,
    cert,
    key,
    logger: false,
    disabledCommands: secure ? [] : ['STARTTLS'],
    onAuth: ({ username, password }, _session, callback) =>
      callback(username === 'us er' && password === 'p:w' ? null : new Error('bad'), { user: username }),
    onConnect: (_session, callback) => {
      connections++;
      callback();
    },
    onRcptTo: (_address, _session, callback) =>
      callback(refuse === 0 ? null : Object.assign(new Error('refused'), { responseCode: refuse })),
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString();
        const keep = async () => {
          received.push({ envelope: session.envelope, raw, mail: await PostalMime.parse(raw), secure: session.secure });
          callback();
        };
        void keep();
      });
    },
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)));
  return { port: (server.server.address() as AddressInfo).port, received, connections: () => connections };
}

function mailerOf(smtpUrl: string, emailFrom = 'Sign-in <no-reply@example.com>'): Mailer {
  const mailer = createMailer({ smtpUrl, emailFrom });
  onTestFinished(() => mailer.close());
  return mailer;
}

const message: MailMessage = {
  to: 'Jane.Doe@example.com',
  subject: 'Ihr Code für die Anmeldung 🔑',
  text: 'Code: 123456\n.\nÜber',
  html: '<p>Code: <b>123456</b> Über</p>',
};

describe('mail', () => {
  test('arrives with both bodies, one recipient and its own id', async () => {
    const { port, received } = await mailServer();
    await mailerOf(`smtp://127.0.0.1:${port}`).send({ ...message, message_id: '<0190-abc@id.example.com>' });
    const [{ envelope, mail, raw }] = received as [Received];
    expect(envelope.mailFrom).toMatchObject({ address: 'no-reply@example.com' });
    expect(envelope.rcptTo.map(({ address }) => address)).toEqual(['Jane.Doe@example.com']);
    expect(mail).toMatchObject({
      from: { name: 'Sign-in', address: 'no-reply@example.com' },
      to: [{ name: '', address: 'Jane.Doe@example.com' }],
      subject: message.subject,
      messageId: '<0190-abc@id.example.com>',
    });
    expect(mail.text?.trim()).toBe('Code: 123456\n.\nÜber');
    expect(mail.html?.trim()).toBe(message.html);
    expect(raw).toContain('Auto-Submitted: auto-generated');
    expect(raw).not.toMatch(/nodemailer/i);
  });

  test('uses a sender of its own and keeps its connections', async () => {
    const { port, received, connections } = await mailServer();
    const mailer = mailerOf(`smtp://127.0.0.1:${port}`, 'no-reply@localhost');
    for (let i = 0; i < 5; i++) await mailer.send({ ...message, from: '"Staging Inc" <support@example.org>' });
    expect(received[0]?.mail.from).toEqual({ name: 'Staging Inc', address: 'support@example.org' });
    expect(connections()).toBe(1);
  });

  test('authenticates and seals the connection as the URL says', async () => {
    const { port, received } = await mailServer({ secure: true });
    await mailerOf(`smtps://us%20er:p%3Aw@localhost:${port}?tls.rejectUnauthorized=false`).send(message);
    expect(received[0]?.secure).toBe(true);
    await expect(mailerOf(`smtps://us%20er:wrong@localhost:${port}?tls.rejectUnauthorized=false`).send(message)).rejects.toThrow(
      /Invalid login/,
    );
    await expect(mailerOf(`smtps://localhost:${port}`).send(message)).rejects.toThrow(/self-signed/);
    expect(received).toHaveLength(1);
  });
});

describe('nothing is sent (attack 11.129)', () => {
  test.each([
    ['two recipients', { to: 'a@evil.example,b@victim.example' }],
    ['two recipients apart', { to: 'a@evil.example b@victim.example' }],
    ['a quoted recipient', { to: '"a@evil.example x"@victim.example' }],
    ['a named recipient', { to: 'Jane <jane@example.com>' }],
    ['a group', { to: 'all: a@example.com;' }],
    ['a header in the recipient', { to: 'a@example.com\r\nBcc: b@example.com' }],
    ['an option as recipient', { to: '-oQ@example.com' }],
    ['no recipient', { to: '' }],
    ['a header in the subject', { subject: 'Hi\r\nBcc: b@example.com' }],
    ['a bare line feed in the subject', { subject: 'Hi\nBcc: b@example.com' }],
    ['a header in the sender', { from: 'Evil\r\nBcc: b@example.com <a@example.com>' }],
    ['two senders', { from: 'a@example.com, b@example.com' }],
    ['a header in the id', { message_id: '<a@b>\r\nBcc: b@example.com' }],
    ['an id without brackets', { message_id: 'a@b' }],
    ['a header in the language', { language: 'de\r\nBcc: b@example.com' }],
    ['a language that is no tag', { language: '../../de' }],
  ])('with %s', async (_name, change) => {
    const { port, received, connections } = await mailServer();
    const error: unknown = await mailerOf(`smtp://127.0.0.1:${port}`)
      .send({ ...message, ...change })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(InvalidMailError);
    expect(isPermanentMailError(error)).toBe(true);
    expect([received.length, connections()]).toEqual([0, 0]);
  });

  test('by a mailer whose sender is no mailbox', () =>
    expect(() => createMailer({ smtpUrl: 'smtp://127.0.0.1:1', emailFrom: 'nobody' })).toThrow(InvalidMailError));
});

describe('failures', () => {
  const failure = (mailer: Mailer) =>
    mailer.send(message).then(
      () => null,
      (caught: unknown) => caught,
    );

  test('a refused recipient is permanent with 5yz and passing with 4yz', async () => {
    for (const [code, permanent] of [
      [550, true],
      [451, false],
    ] as const) {
      const { port, received } = await mailServer({ refuse: code });
      const error = await failure(mailerOf(`smtp://127.0.0.1:${port}`));
      expect(error).toBeInstanceOf(Error);
      expect(isPermanentMailError(error)).toBe(permanent);
      expect(received).toHaveLength(0);
    }
  });

  test('a server that is not there, or hangs up, is a passing failure', async () => {
    const down = await failure(mailerOf('smtp://127.0.0.1:1'));
    expect(down).toBeInstanceOf(Error);
    expect(isPermanentMailError(down)).toBe(false);
    const sockets = new Set<Socket>();
    const rude = createServer((socket) => void sockets.add(socket.on('error', () => {}).destroy())).listen(0, '127.0.0.1');
    await once(rude, 'listening');
    onTestFinished(() => void rude.close());
    expect(isPermanentMailError(await failure(mailerOf(`smtp://127.0.0.1:${(rude.address() as AddressInfo).port}`)))).toBe(false);
  });
});
