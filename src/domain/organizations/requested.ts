import { listOrganizationOptions, type OrganizationOption } from '../../db/tables/session_organizations.js';
import type { Client } from '../clients/clients.js';
import type { Context } from '../context.js';
import { joinAllBySignIn, joinBySignIn, type Visitor } from './just-in-time.js';
import { findMembership } from './memberships.js';
import { chooserWord, findOrganization, type Organization } from './organizations.js';

/** What the chooser answers for no organization. */
export const personalAccount = '';

export type OrganizationChoice =
  /** For none, or not known before somebody is signed in. */
  | { readonly kind: 'none' }
  | { readonly kind: 'one'; readonly organization: Organization }
  /** The person has to say. `options`: what there is to choose from. */
  | { readonly kind: 'choose'; readonly options: readonly OrganizationOption[] }
  /** It is unknown or disabled, or the person is no active member: nobody is told which. */
  | { readonly kind: 'refused' };

const refused: OrganizationChoice = { kind: 'refused' };

/** The organization of the id or name for the person: an active member, or somebody whom it lets in by the way they came. */
async function named(ctx: Context, word: string, visitor: Visitor): Promise<OrganizationChoice> {
  const organization = await findOrganization(ctx, word);
  if (organization?.status !== 'enabled') return refused;
  const known = await findMembership(ctx, organization.id, visitor.user_id);
  const membership = known ?? (await joinBySignIn(ctx, organization, visitor));
  return membership?.status === 'active' ? { kind: 'one', organization } : refused;
}

async function chosen(ctx: Context, option: OrganizationOption): Promise<OrganizationChoice> {
  const organization = await findOrganization(ctx, option.id);
  return organization?.status === 'enabled' ? { kind: 'one', organization } : refused;
}

/** What there is to choose from, once those are joined that let the person in by the way they came. */
async function optionsOf(ctx: Context, client: Client, visitor: Visitor): Promise<OrganizationOption[]> {
  await joinAllBySignIn(ctx, visitor);
  const person = { user_id: visitor.user_id, session_id: visitor.id ?? null, client_id: client.id, now: ctx.clock.now() };
  return listOrganizationOptions(ctx.scope, person);
}

/**
 * The organization that a sign-in is for. A client that requires one and names none gets the only one that the person is a member of, or the last one of this
 * session with this client; else the person chooses.
 * @param word of the request, or what the person chose; undefined: it names none
 * @param visitor null: nobody is signed in yet
 */
export async function organizationChoice(
  ctx: Context,
  client: Client,
  word: string | undefined,
  visitor: Visitor | null,
): Promise<OrganizationChoice> {
  const usage = client.organization_usage;
  if (usage === 'deny' || visitor === null) return { kind: 'none' };
  if (word === personalAccount) return usage === 'allow' ? { kind: 'none' } : refused;
  if (word !== undefined && word !== chooserWord) return named(ctx, word, visitor);
  if (word === undefined && usage === 'allow') return { kind: 'none' };
  const options = await optionsOf(ctx, client, visitor);
  if (usage === 'require' && options.length === 0) return refused;
  if (word === chooserWord) return { kind: 'choose', options };
  const mine = options.filter(({ is_member }) => is_member);
  const only = mine.find(({ is_last }) => is_last) ?? (mine.length === 1 ? mine[0] : undefined);
  return only ? chosen(ctx, only) : { kind: 'choose', options };
}
