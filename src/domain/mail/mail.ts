import { insertMail, listRecentMails, type MailRow, type NewMail } from '../../db/tables/mails.js';
import { uuidv7 } from '../../lib/random.js';
import { SealError, type Aad, type Sealer } from '../../lib/seal.js';
import { userAgentDevice } from '../../lib/user-agent.js';
import type { Context } from '../context.js';
import { clientOf } from '../clients/clients.js';
import type { BrandedClient } from '../environments/branding.js';
import type { Origin } from '../origin.js';
import { renderForEnvironment } from './mail-templates.js';
import type { MailModels, MailName } from './mails.js';
import { mailEnvironment } from './sample.js';

/** Where the request came from that made the service write. */
export type MailOrigin = Pick<Origin, 'ip_address' | 'user_agent' | 'on_way_to' | 'looks' | 'language'>;

/** The opened content of a queued mail. */
export type MailContent = {
  readonly template: MailName;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The BCP 47 tag; absent in a mail of an earlier release. */ readonly language?: string;
};

const keepMs = 7 * 86_400_000;
const aadOf = (id: string): Aad => `mails/${id}`;

type Mail<Name extends MailName> = {
  template: Name;
  to: string;
  /**
   * The language of whoever gets it, a tag as the person or a provider wrote it; null when it isn't known. After it comes that of the page which caused
   * the mail (`origin.language`), then the environment's.
   */
  locale: string | null;
  model: Omit<MailModels[Name], 'environment' | 'request'>;
  origin: MailOrigin;
  /** An organization's, in whose name the mail comes; its text names the environment nevertheless. */
  looks?: BrandedClient;
  send_before?: Date | null;
  discarded?: boolean;
  /** False: it is known that the environment has no words of its own for this mail. */
  has_template?: boolean;
};

/**
 * Writes a mail into the outbox of the transaction that causes it, sealed because it may carry a code, and wakes the mail loop at commit.
 * A `discarded` one is handled like all others and goes to nobody, so that its request can't be told from one that sends.
 */
export async function queueMail<Name extends MailName>(tx: Context, mail: Mail<Name>): Promise<void> {
  await insertMail(tx.scope, await mailRow(tx, mail));
}

/** The same as a row, for a statement that stores more than the mail. */
export async function mailRow<Name extends MailName>(tx: Context, mail: Mail<Name>): Promise<NewMail> {
  const { template, to, locale, origin, send_before = null, discarded = false, has_template = true } = mail;
  const looks = mail.looks ?? origin.looks ?? (origin.on_way_to ? await clientOf(tx, origin.on_way_to) : null);
  const shown = mailEnvironment(tx.environment, looks);
  const { name } = mailEnvironment(tx.environment);
  const model = {
    ...mail.model,
    environment: mail.looks ? { ...shown, name, heading: shown.name } : shown,
    request: { ip_address: origin.ip_address, device: userAgentDevice(origin.user_agent), at: tx.clock.now().toISOString() },
  } as MailModels[Name];
  const content = { template, ...(await renderForEnvironment(tx, template, model, [locale, origin.language?.() ?? null], has_template)) };
  return rowOf(tx, content, { to, send_before, discarded });
}

/** The same for a mail that is written already. */
export async function queueRendered(tx: Context, content: MailContent, delivery: Delivery): Promise<void> {
  await insertMail(tx.scope, rowOf(tx, content, delivery));
}

type Delivery = { readonly to: string; readonly send_before: Date | null; readonly discarded: boolean };

function rowOf(tx: Context, content: MailContent, { to, send_before, discarded }: Delivery): NewMail {
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const sealed = tx.crypto.sealer.seal(JSON.stringify(content), aadOf(id));
  return { id, recipient: to, sealed, send_before, discarded, expires_at: new Date(now.getTime() + keepMs), created_at: now };
}

/** The words of a queued mail. @throws {SealError} when it was sealed under another key */
export const openMail = (sealer: Sealer, row: Pick<MailRow, 'id' | 'sealed'>): MailContent =>
  JSON.parse(sealer.open(row.sealed, aadOf(row.id))) as MailContent;

/** The same, but null for a mail whose content was emptied after sending, or is sealed with an unknown key. */
function openReadable(sealer: Sealer, row: MailRow): MailContent | null {
  try {
    return openMail(sealer, row);
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** A captured mail as `/dev/mailbox` shows it (specification 1.5.1). */
export type CapturedMail = { id: string; to: string; subject: string; text: string; html: string; created_at: string };

const mailboxLimit = 100;

export async function listCapturedMails(ctx: Context, to: string | null): Promise<CapturedMail[]> {
  const rows = await listRecentMails(ctx.scope, { recipient: to, limit: mailboxLimit });
  return rows.flatMap((row) => {
    const content = openReadable(ctx.crypto.sealer, row);
    if (!content) return [];
    const { subject, text, html } = content;
    return [{ id: row.id, to: row.recipient, subject, text, html, created_at: row.created_at.toISOString() }];
  });
}
