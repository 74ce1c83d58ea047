import { listEnvironments } from '../../../db/tables/environments.js';
import { findMailServerProblem, type MailServerProblem } from '../../../platform/mailer.js';
import { fixes, probes } from '../../../lib/remedies.js';
import { check, type Found } from '../check.js';

type Fault = 'none' | 'away' | 'tls' | 'authentication' | 'refused' | 'sender';

const usualPort = (protocol: string) => (protocol === 'smtps:' ? '465' : '587');

/** What is wrong with the mail server of `SMTP_URL`, by the step at which talking to it fails. */
export function mailServerFault(smtpUrl: string, { step, code }: MailServerProblem): Found<Fault> {
  const { protocol, hostname, port } = new URL(smtpUrl);
  const at = `${hostname}:${port || usualPort(protocol)}`;
  const subject = 'SMTP_URL';
  const answered = code === null ? '' : ` (it answered ${code})`;
  if (step === 'dns')
    return {
      fault: 'away',
      finding: `The name of the mail server ${hostname} does not resolve.`,
      fix: fixes.variable('SMTP_URL'),
      subject,
    };
  if (step === 'connect' || step === 'greeting') {
    const how = step === 'connect' ? 'can not be reached' : 'does not greet in time';
    return { fault: 'away', finding: `The mail server ${at} ${how}.`, fix: fixes.variable('SMTP_URL'), subject };
  }
  if (step === 'tls')
    return { fault: 'tls', finding: `TLS with the mail server ${at} fails.`, look: probes.mailCertificate(protocol, at), subject };
  if (step === 'authentication')
    return {
      fault: 'authentication',
      finding: `The mail server ${at} refuses user and password${answered}.`,
      fix: fixes.variable('SMTP_URL'),
      subject,
    };
  return { fault: 'refused', finding: `The mail server ${at} refuses us${answered}.`, fix: fixes.variable('SMTP_URL'), subject };
}

export const mailCheck = check({
  id: 'mail',
  title: 'Mail',
  inspects: 'The server of `SMTP_URL`: connection, EHLO, TLS, sign-in. No mail is sent.',
  okText: 'Mail can be sent, or is captured in the development mailbox.',
  needs: null,
  variables: ['SMTP_URL', 'EMAIL_FROM'],
  faults: {
    none: {
      level: 'warning',
      when: 'an environment of kind `production` has no mail server',
      why: 'Nobody gets codes: nobody registers, and nobody who forgot a password comes back.',
      mend: '`SMTP_URL`',
    },
    away: {
      level: 'problem',
      when: 'the mail server can’t be reached, or does not greet',
      why: 'Codes and notices wait until it is back: nobody registers, and nobody who forgot a password comes back.',
      mend: '`SMTP_URL`, or the mail server at that address',
    },
    tls: {
      level: 'problem',
      when: 'TLS fails, by `smtps://` or STARTTLS',
      why: 'Mail waits: it is not sent over a connection that somebody else may read.',
      mend: 'the mail server’s certificate (`openssl s_client`); `NODE_EXTRA_CA_CERTS` for an authority of your own',
    },
    authentication: {
      level: 'problem',
      when: 'it refuses the user or the password',
      why: 'Mail waits until it is let in.',
      mend: '`SMTP_URL`',
    },
    refused: { level: 'problem', when: 'it refuses EHLO, or speaks something else', why: 'Mail waits.', mend: '`SMTP_URL`' },
    sender: {
      level: 'warning',
      when: '`EMAIL_FROM` is an address of localhost, though mail is sent',
      why: 'Receivers refuse mail of such a sender, or take it for spam.',
      mend: '`EMAIL_FROM`',
    },
  },
  async run({ installation, database, hasSchema }) {
    const { smtpUrl, emailFrom, baseUrl } = installation.config;
    if (smtpUrl === null) {
      const environments = (await hasSchema()) ? await database((trx) => listEnvironments(trx)) : [];
      const production = environments.find(({ kind }) => kind === 'production');
      if (!production) return [];
      const finding = `There is no mail server for the production environment ${production.slug}.`;
      return [
        { fault: 'none', finding, fix: fixes.setVariable('SMTP_URL', 'smtp://user:password@mail.example.com:587'), subject: 'SMTP_URL' },
      ];
    }
    const problem = await findMailServerProblem(smtpUrl, 4000);
    const sender: Found<Fault>[] = /@localhost>?$/.test(emailFrom)
      ? [
          {
            fault: 'sender',
            finding: `Mail is sent as ${emailFrom}, which is nobody's address.`,
            fix: fixes.setVariable('EMAIL_FROM', `no-reply@${new URL(baseUrl).hostname}`),
            subject: 'EMAIL_FROM',
          },
        ]
      : [];
    const local = installation.config.loopback;
    return [...(problem === null ? [] : [mailServerFault(smtpUrl, problem)]), ...(local ? [] : sender)];
  },
});
