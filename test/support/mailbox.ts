export type CapturedMail = { id: string; to: string; subject: string; text: string; html: string; created_at: string };

/** The captured mail of a service without an SMTP server, newest first. */
export async function mailTo(origin: string, to: string): Promise<CapturedMail[]> {
  const response = await fetch(new URL(`/dev/mailbox?to=${encodeURIComponent(to)}`, origin), { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`no mailbox: ${response.status}`);
  return ((await response.json()) as { messages: CapturedMail[] }).messages;
}

export async function lastMailTo(origin: string, to: string): Promise<CapturedMail> {
  const [mail] = await mailTo(origin, to);
  if (!mail) throw new Error(`no mail to ${to}`);
  return mail;
}

/** The six digits of a mail; ten while somebody guesses. */
export function codeIn(mail: CapturedMail): string {
  const code = /\b(?:\d{6}|\d{10})\b/.exec(mail.text)?.[0];
  if (code === undefined) throw new Error(`no code in "${mail.subject}"`);
  return code;
}

export const otherCode = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0');
