import {
  findMailCondition,
  listTroubledConnections,
  listTroubledDomains,
  listTroubledLogStreams,
  listTroubledWebhooks,
} from '../../db/tables/attention.js';
import { listActingSigningKeys } from '../../db/tables/signing_keys.js';
import type { Context } from '../context.js';
import {
  connectionHealth,
  domainHealth,
  logStreamHealth,
  mailHealth,
  renewalDays,
  signingKeyHealth,
  webhookHealth,
  type Health,
} from './health.js';

/** Something that somebody has to look at. `retrying`, `lost`: deliveries or mails that wait for another attempt, and events that never arrived. */
export type Attention = {
  readonly kind: AttentionKind;
  /** Null: no record, but the whole. */
  readonly id: string | null;
  readonly name: string;
  readonly health: Health;
  readonly retrying: number;
  readonly lost: number;
};

type Found = Pick<Attention, 'id' | 'name' | 'health'> & Partial<Attention>;

const dayMs = 86_400_000;
/** The longest before its end that a certificate is told of. */
const renewalMs = renewalDays * dayMs;
const since = ({ clock }: Context): Date => new Date(clock.now().getTime() - dayMs);
const missing = (error: string): Health => ({ trouble: 'missing', since: null, attempts: 0, response_status: null, error });

async function lookAtMail(ctx: Context): Promise<Found[]> {
  const name = '';
  if (ctx.config.smtpUrl === null)
    return ctx.environment.kind === 'production' ? [{ id: null, name, health: missing('no_mail_server') }] : [];
  const mail = await findMailCondition(ctx.scope, since(ctx));
  const health = mailHealth(mail);
  return health === null && mail.retrying === 0 ? [] : [{ id: null, name, health, retrying: mail.retrying }];
}

async function lookAtKeys(ctx: Context): Promise<Found[]> {
  const keys = await listActingSigningKeys(ctx.scope);
  return ctx.environment.signing_algorithms.flatMap((algorithm) => {
    const own = keys.filter((key) => key.algorithm === algorithm);
    const health = signingKeyHealth(own, ctx.clock.now());
    return health === null ? [] : [{ id: own.find(({ status }) => status === 'primary')?.kid ?? null, name: algorithm, health }];
  });
}

const looks = {
  webhooks: async (ctx) => (await listTroubledWebhooks(ctx.scope, since(ctx))).map((row) => ({ ...row, health: webhookHealth(row) })),
  log_streams: async ({ scope }) => (await listTroubledLogStreams(scope)).map((row) => ({ ...row, health: logStreamHealth(row) })),
  connections: async ({ scope }) =>
    (await listTroubledConnections(scope))
      .map((row) => ({ ...row, health: connectionHealth(row) }))
      .filter(({ health }) => health !== null),
  mail: lookAtMail,
  signing_keys: lookAtKeys,
  custom_domains: async ({ scope, clock }) =>
    (await listTroubledDomains(scope, new Date(clock.now().getTime() + renewalMs))).flatMap((row) => {
      const health = domainHealth(row, clock.now());
      return health === null ? [] : [{ ...row, health }];
    }),
} satisfies Record<string, (ctx: Context) => Promise<readonly Found[]>>;

export type AttentionKind = keyof typeof looks;

export const attentionKinds = Object.keys(looks) as AttentionKind[];

/** All of the environment that needs attention, of the given kinds: what fails now first. */
export async function listAttention(ctx: Context, kinds: readonly AttentionKind[]): Promise<Attention[]> {
  const found = await Promise.all(
    kinds.map(async (kind) =>
      (await looks[kind](ctx)).map(({ id, name, health, retrying = 0, lost = 0 }: Found) => ({ kind, id, name, health, retrying, lost })),
    ),
  );
  return found.flat().sort((one, other) => Number(one.health === null) - Number(other.health === null));
}
