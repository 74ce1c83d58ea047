import { insertMail, listRecentMails, type MailRow } from '../../db/tables/mails.js';
import { uuidv7 } from '../../lib/random.js';
import { SealError, type Place, type Sealer } from '../../lib/seal.js';
import { deviceWords } from '../../lib/user-agent.js';
import type { Context } from '../context.js';
import { clientOf } from '../clients/clients.js';
import { brandOf } from '../environments/branding.js';
import type { Origin } from '../origin.js';
import { renderMail, type MailModels } from './templates.js';

/** Where the request came from that made the service write. */
export type MailOrigin = Pick<Origin, 'ip_address' | 'user_agent' | 'on_way_to'>;

/** The opened content of a queued mail. */
export type MailContent = { readonly template: keyof MailModels; readonly subject: string; readonly text: string; readonly html: string };

const keepMs = 7 * 86_400_000;
const place = (id: string): Place => `mails/${id}`;

/**
 * Writes a mail into the outbox of the transaction that causes it, sealed because it may carry a code, and wakes the mail loop at commit.
 * A `discarded` one is handled like all others and goes to nobody, so that its request can't be told from one that sends.
 */
export async function queueMail<Name extends keyof MailModels>(
  tx: Context,
  mail: {
    template: Name;
    to: string;
    model: Omit<MailModels[Name], 'environment' | 'request'>;
    origin: MailOrigin;
    send_before?: Date | null;
    discarded?: boolean;
  },
): Promise<void> {
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const { on_way_to } = mail.origin;
  const client = on_way_to ? await clientOf(tx, on_way_to) : null;
  const { name, support_email, primary_color } = brandOf(tx.environment, client);
  const model = {
    ...mail.model,
    environment: { name, support_email, primary_color },
    request: { ip_address: mail.origin.ip_address, device: deviceWords(mail.origin.user_agent), at: now.toISOString() },
  } as MailModels[Name];
  const content: MailContent = { template: mail.template, ...renderMail(mail.template, model) };
  await insertMail(tx.scope, {
    id,
    recipient: mail.to,
    sealed: tx.sealer.seal(JSON.stringify(content), place(id)),
    send_before: mail.send_before ?? null,
    discarded: mail.discarded ?? false,
    expires_at: new Date(now.getTime() + keepMs),
    created_at: now,
  });
}

/** The words of a queued mail. @throws {SealError} when it was sealed under another key */
export function openMail(sealer: Sealer, row: Pick<MailRow, 'id' | 'sealed'>): MailContent {
  return JSON.parse(sealer.open(row.sealed, place(row.id))) as MailContent;
}

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

/** The newest mails of the environment, of one recipient if told. */
export async function listCapturedMails(ctx: Context, to: string | null): Promise<CapturedMail[]> {
  const rows = await listRecentMails(ctx.scope, { recipient: to, limit: mailboxLimit });
  return rows.flatMap((row) => {
    const content = openReadable(ctx.sealer, row);
    if (!content) return [];
    const { subject, text, html } = content;
    return [{ id: row.id, to: row.recipient, subject, text, html, created_at: row.created_at.toISOString() }];
  });
}
