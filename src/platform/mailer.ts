import { createTransport } from 'nodemailer';

/** A mail to one recipient, with the same words as text and HTML. */
export type MailMessage = { readonly to: string; readonly subject: string; readonly text: string; readonly html: string; readonly message_id?: string };

/** Sends mail over SMTP. */
export type Mailer = { send(message: MailMessage): Promise<void>; close(): Promise<void> };

const timeoutMs = 10_000;
const headerSafe = /^[^\r\n]*$/;

/** @param options.smtpUrl smtp:// or smtps://, with user and password if needed. */
export function createMailer(options: { smtpUrl: string; emailFrom: string }): Mailer {
  const timeouts = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs };
  const transport = createTransport({ url: options.smtpUrl, pool: true, maxConnections: 2, ...timeouts });
  return {
    async send(message) {
      if (!headerSafe.test(message.to) || !headerSafe.test(message.subject)) throw new Error('a mail header must be one line');
      const { message_id, to, ...rest } = message;
      await transport.sendMail({ from: options.emailFrom, to: { name: '', address: to }, ...rest, ...(message_id === undefined ? {} : { messageId: message_id }) });
    },
    close: async () => transport.close(),
  };
}
