import { normalizeEmail } from '../lib/email-address.js';
import { named } from '../lib/named.js';
import { timed, type Tracer } from './spans/tracer.js';

/** A mail to one recipient, with the same words as text and HTML. */
export type MailMessage = {
  /** `name@example.com` or `Name <name@example.com>`; without it EMAIL_FROM. */
  readonly from?: string;
  /** One bare address. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** What it is written in, a BCP 47 tag (`Content-Language`, RFC 3282). */
  readonly language?: string | undefined;
  /** `<unique@host>`, the same for every attempt, so that receivers can tell a repeated mail (RFC 5322 section 3.6.4). */
  readonly message_id?: string;
};

export type Mailer = {
  /**
   * Resolves once the server has accepted the mail. When `signal` ends it, the connection is closed; the server may have the mail all the same.
   * @throws {InvalidMailError} for a message that could be read as another one
   * @throws the transport's error otherwise; see {@link isPermanentMailError}
   */
  send(message: MailMessage, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

/** A message that isn't sent: an address or a header that could be read as several. */
export class InvalidMailError extends Error {
  constructor(field: string) {
    super(`the mail's ${field} is not valid`);
    this.name = 'InvalidMailError';
  }
}

/** Whether sending the same mail again is pointless: it is invalid, or the server refused it for good (RFC 5321 section 4.2.1, 5yz). */
export function isPermanentMailError(error: unknown): boolean {
  if (error instanceof InvalidMailError) return true;
  const { responseCode, code } = (error ?? {}) as { responseCode?: unknown; code?: unknown };
  return typeof responseCode === 'number' && responseCode >= 500 && responseCode < 600 && code !== 'EAUTH';
}

/** For each step: connection, greeting, answer to a command. */
const stepTimeoutMs = 10_000;
/** For the whole mail, whatever the server does meanwhile. */
const totalTimeoutMs = 30_000;
const maxConnections = 3;

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const oneLine = /^[^\u0000-\u001f\u007f\u2028\u2029]*$/;
const mailbox = /^(?:"?(?<name>[^"<>@,;:]*?)"?\s*<(?<bracketed>[^<>]+)>|(?<bare>[^<>]+))$/;
const languageTag = /^[A-Za-z0-9]{2,8}(?:-[A-Za-z0-9]{1,8})*$/;
const messageId = /^<[^<>\s@]+@[^<>\s@]+>$/;

function readRecipient(text: string): string {
  const address = normalizeEmail(text);
  if (!address || address.email.toLowerCase() !== text.toLowerCase()) throw new InvalidMailError('recipient');
  return text;
}

function readSender(text: string): { name: string; address: string } {
  const found = oneLine.test(text) ? mailbox.exec(text.trim())?.groups : undefined;
  const address = normalizeEmail(found?.['bracketed'] ?? found?.['bare'] ?? '');
  if (!address) throw new InvalidMailError('sender');
  return { name: found?.['name'] ?? '', address: address.email };
}

/** Whether the text is a mailbox that mail can be sent as. */
export function isMailSender(text: string): boolean {
  try {
    readSender(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Mail through the server that `smtpUrl` names (`smtps://` TLS from the start, `smtp://` STARTTLS where the server offers it; user,
 * password and `?tls.…` options as nodemailer reads them). A few connections are kept; each step may take 10 s, a mail 30 s.
 * @throws {InvalidMailError} when `emailFrom` isn't a mailbox
 */
export function createMailer({
  smtpUrl,
  emailFrom,
  tracer = null,
}: {
  readonly smtpUrl: string;
  readonly emailFrom: string;
  readonly tracer?: Tracer | null;
}): Mailer {
  const sender = readSender(emailFrom);
  const host = URL.canParse(smtpUrl) ? new URL(smtpUrl).hostname : '';
  const open = async () =>
    (await import('nodemailer')).createTransport({
      url: smtpUrl,
      pool: true,
      maxConnections,
      connectionTimeout: stepTimeoutMs,
      greetingTimeout: stepTimeoutMs,
      socketTimeout: stepTimeoutMs,
      dnsTimeout: stepTimeoutMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  /** Opened by the first mail. */
  let transport: ReturnType<typeof open> | null = null;

  return {
    async send({ from, to, subject, text, html, language, message_id }, signal) {
      const author = from === undefined ? sender : readSender(from);
      const recipient = readRecipient(to);
      if (!oneLine.test(subject)) throw new InvalidMailError('subject');
      if (language !== undefined && !languageTag.test(language)) throw new InvalidMailError('language');
      if (message_id !== undefined && !(oneLine.test(message_id) && messageId.test(message_id))) throw new InvalidMailError('message_id');
      const mail = {
        from: author,
        to: { name: '', address: recipient },
        envelope: { from: author.address, to: [recipient] },
        subject,
        text,
        html,
        ...(message_id !== undefined && { messageId: message_id }),
        // RFC 3834: vacation responders stay silent.
        headers: { 'Auto-Submitted': 'auto-generated', ...(language !== undefined && { 'Content-Language': language }) },
        xMailer: false as const,
        signal: AbortSignal.any([AbortSignal.timeout(totalTimeoutMs), ...(signal ? [signal] : [])]),
      };
      const span = tracer === null ? null : tracer.mail(host);
      transport ??= open();
      await timed(span, (await transport).sendMail(mail));
    },
    async close() {
      (await transport)?.close();
    },
  };
}

/** How far a mail server let us in, when it didn't let us in wholly: the first step that failed. `code`: the server's reply code, if it answered. */
export type MailServerProblem = {
  readonly step: 'dns' | 'connect' | 'greeting' | 'tls' | 'authentication' | 'protocol';
  readonly code: number | null;
};

const mailSteps: Readonly<Record<string, MailServerProblem['step']>> = named({
  EDNS: 'dns',
  ENOTFOUND: 'dns',
  ECONNECTION: 'connect',
  ECONNREFUSED: 'connect',
  ESOCKET: 'connect',
  ETIMEDOUT: 'greeting',
  ETLS: 'tls',
  EAUTH: 'authentication',
  ENOAUTH: 'authentication',
});

const isTlsText = /certificate|self[- ]signed|SSL|TLS|wrong version number|altnames/i;

/**
 * Connects to the mail server, says EHLO, goes over to TLS and signs in as the address says, and leaves: no mail is sent.
 * @returns null when all went well; the problem says nothing that stands in `smtpUrl`
 */
export async function findMailServerProblem(smtpUrl: string, timeoutMs: number): Promise<MailServerProblem | null> {
  const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs, dnsTimeout: timeoutMs };
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({ url: smtpUrl, ...limits, disableFileAccess: true, disableUrlAccess: true });
  try {
    await transport.verify();
    return null;
  } catch (error) {
    const { code, responseCode, message } = (error ?? {}) as { code?: unknown; responseCode?: unknown; message?: unknown };
    const step = isTlsText.test(String(message)) ? 'tls' : (mailSteps[String(code)] ?? 'protocol');
    return { step, code: typeof responseCode === 'number' ? responseCode : null };
  } finally {
    transport.close();
  }
}
