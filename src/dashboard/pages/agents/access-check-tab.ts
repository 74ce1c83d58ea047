import { findUser } from '../../../db/tables/users.js';
import { classes } from '../../../domain/proofs/classes.js';
import { refusalRules } from '../../../lib/refusal-rules.js';
import type { ResourceObject } from '../../../management/documents.js';
import { previewAssertion, type AssertionPreview } from '../../../oauth/preview/assertion-preview.js';
import { clientChoices } from '../../parts/forms/choices.js';
import type { Part } from '../../parts/page-parts.js';
import { listOf, recordOf } from '../../parts/records/objects.js';
import { recordPath, type TabSpec, type ViewContext } from '../../parts/records/presentation.js';
import { words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

/** What the answer tells of: who holds the role, and is in the group, that a grant names, too. */
const needed = ['users:read', 'clients:read', 'outbound_grants:read', 'organization_memberships:read', 'organization_groups:read', 'roles:read'] as const; // prettier-ignore

const signIns: Readonly<Record<(typeof classes)[number], string>> = { '1': 'One factor', '2': 'Two factors', phr: 'Phishing-resistant' };

type Question = {
  readonly user: string;
  readonly client: string;
  readonly resource: string;
  readonly scope: string;
  readonly organization: string;
  readonly acr: (typeof classes)[number];
};

const resourcesOf = ({ attributes }: ResourceObject) =>
  (attributes['resources'] as { readonly identifier: string }[]).map((one) => one.identifier);

function questionOf({ req }: ViewContext, server: ResourceObject): Question {
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const value = (name: string) => (query.get(name) ?? '').slice(0, 2048).trim();
  return {
    user: value('user'),
    client: value('client'),
    resource: resourcesOf(server).find((one) => one === value('resource')) ?? resourcesOf(server)[0] ?? '',
    scope: value('scope'),
    organization: value('organization'),
    acr: classes.find((one) => one === value('acr')) ?? '1',
  };
}

async function form(view: ViewContext, server: ResourceObject, question: Question): Promise<Part> {
  const choose = { value: '', label: 'Choose a client' };
  const named = (values: readonly string[]) => values.map((value) => ({ value, label: value }));
  return {
    kind: 'filters',
    action: `${recordPath('external_servers', server.id)}/access_check`,
    fields: [
      { name: 'user', label: terms.email_address_of_a_user, value: question.user, choices: null, kind: 'search' },
      { name: 'client', label: terms.client, value: question.client, choices: [choose, ...(await clientChoices(view))], kind: 'select' },
      { name: 'resource', label: 'Resource', value: question.resource, choices: named(resourcesOf(server)), kind: 'select' },
      { name: 'scope', label: terms.scopes, value: question.scope, choices: null, kind: 'search' },
      { name: 'organization', label: terms.name_of_an_organization, value: question.organization, choices: null, kind: 'search' },
      {
        name: 'acr',
        label: 'Sign-in',
        value: question.acr,
        choices: classes.map((value) => ({ value, label: signIns[value] })),
        kind: 'select',
      },
    ],
    hidden: {},
    clear: null,
    button: 'Check access',
  };
}

const notice = (tone: 'good' | 'info' | 'warning' | 'bad', text: string): Part => ({ kind: 'notice', tone, text });

function answerParts(answer: AssertionPreview): Part[] {
  if ('refusal' in answer) {
    const { found, fix } = refusalRules[answer.refusal.rule];
    return [notice('bad', `No: ${answer.refusal.error}. ${found} ${fix}`)];
  }
  const lead = 'What it would say. Its ID and its times come with each one.';
  return [
    notice('good', `Yes. The scope is: ${String(answer.claims['scope'])}`),
    { kind: 'code', id: 'assertion-claims', title: 'Assertion', text: lead, code: JSON.stringify(answer.claims, null, 2) },
  ];
}

/** The answer of the code that issues assertions; a sentence for what can't be asked. */
async function answered(view: ViewContext, { attributes }: ResourceObject, question: Question): Promise<readonly Part[]> {
  const { call } = view.req;
  if (question.user === '' || question.client === '') return [notice('info', 'Enter the address of a user and choose a client.')];
  const { records } = await listOf(call, 'users', { filters: { email: question.user.toLowerCase() }, size: 1 });
  const user = records[0] && (await findUser(call.ctx.scope, records[0].id));
  if (!user) return [notice('warning', terms.no_user_with_this_address)];
  const { record: client } = await recordOf(call, 'clients', question.client);
  const { resource, acr } = question;
  const [scope, organization] = [question.scope || undefined, question.organization || undefined];
  return answerParts(
    await previewAssertion(call.ctx, {
      client_id: client.id,
      user,
      server: { issuer: words(attributes['issuer']) },
      resource,
      scope,
      organization,
      acr,
    }),
  );
}

async function tabParts(view: ViewContext, server: ResourceObject): Promise<readonly Part[]> {
  const { permissions } = view.req.call.actor;
  const lacking = needed.filter((name) => !permissions.has(name));
  if (lacking.length > 0) return [notice('info', `You need more permissions to check access: ${lacking.join(', ')}.`)];
  const question = questionOf(view, server);
  const lead: Part = {
    kind: 'text',
    title: null,
    paragraphs: [
      'Whether a user, with a client, would get an identity assertion for this server right after signing in. Nothing is issued.',
    ],
  };
  return [lead, await form(view, server, question), ...(await answered(view, server, question))];
}

/** May this person, with this client, there? */
export const accessCheckTab: TabSpec = { name: 'access_check', label: 'Check access', needs: 'outbound_grants', parts: tabParts };
