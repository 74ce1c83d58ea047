import { named } from '../../../lib/named.js';
import { inWords } from '../values.js';
import type { Tone } from '../tone.js';
import { terms } from '../words.js';

/** What records are called in sentences, where it isn't the name of their type. */
const nouns = named<string>({
  api_resource: terms.api_resource,
  authenticator: terms.sign_in_method,
  config: 'Configuration',
  identity: terms.connected_account,
  organization_group: terms.group,
  registration_token: terms.initial_access_token,
  webhook_delivery: 'Delivery',
  webhook_delivery_attempt: 'Delivery attempt',
});

/** What an operation is called when it was done, and what somebody tried to whom it was denied; `{one}`: the kind of record. */
type Verb = readonly [done: string, tried: string, tone?: Tone];

const verbs = named<Verb>({
  created: ['{One} created', 'create a new {one}'],
  updated: ['{One} changed', 'change the {one}'],
  deleted: ['{One} deleted', 'delete the {one}', 'warning'],
  read: ['{One} read', 'view {ones}'],
  activated: ['{One} activated', 'activate the {one}'],
  applied: ['{One} applied', 'apply a {one}'],
  blocked: ['Blocked', 'block the {one}', 'bad'],
  cancelled: ['{One} canceled', 'cancel the {one}', 'warning'],
  data_received: ['{One} received data', 'send data to the {one}'],
  deletion_cancelled: [terms.deletion_of_the_account_canceled, 'cancel the deletion of the account'],
  deactivated: ['{One} deactivated', 'deactivate the {one}', 'warning'],
  exported: ['{One} exported', 'export the {one}'],
  failed: ['{One} failed its check', 'check the {one}', 'warning'],
  generated: ['{One} generated', 'generate a {one}'],
  moved_in: ['{One} imported', 'import a {one}'],
  redelivered: ['Delivery sent again', 'send a delivery again'],
  removed: ['{One} removed', 'remove the {one}', 'warning'],
  resent: ['{One} sent again', 'send the {one} again'],
  paused: ['{One} paused', 'pause the {one}', 'quiet'],
  resumed: ['{One} resumed', 'resume the {one}', 'good'],
  revoked: ['{One} ended', 'end the {one}', 'warning'],
  secret_rotated: ['{One} secret rotated', 'rotate the {one} secret'],
  suspended: ['{One} suspended', 'suspend the {one}', 'warning'],
  tested: ['{One} tested', 'test the {one}'],
  touched: ['{One} kept active', 'keep the {one} active'],
  unblocked: ['Unblocked', 'unblock the {one}', 'good'],
  unlinked: ['{One} removed', 'remove the {one}', 'warning'],
  verified: ['{One} verified', 'verify the {one}', 'good'],
  withdrawn: ['{One} withdrawn', 'withdraw the {one}', 'warning'],
});

/** Operations whose sentence doesn't follow from record and verb. */
const operations = named<Verb>({
  'client.tokens_revoked': ['All tokens of the client revoked', 'revoke the tokens of the client', 'warning'],
  'connection.metadata_accepted': ['New metadata of the provider accepted', 'accept new metadata of a provider', 'warning'],
  'config.apply_config': ['Configuration applied', 'apply a configuration'],
  'config.get_config': ['Configuration read', 'read the configuration'],
  'config.get_config_drift': ['Configuration compared', 'compare the configuration'],
  'config.plan_config': ['Configuration planned', 'plan a configuration'],
  'diagnostics.diagnostics': ['Diagnostics read', 'read the diagnostics'],
  'explanations.token_preview': ['Token previewed', 'preview a token'],
  'directory.previous_token_revoked': ['Previous token of the directory revoked', 'revoke the previous token of the directory', 'warning'],
  'directory.token_rotated': ['Token of the directory rotated', 'rotate the token of the directory'],
  'user.authenticators_reset': ['All sign-in methods reset', 'reset the sign-in methods', 'warning'],
  'user.devices_forgotten': ['Remembered devices forgotten', 'forget the remembered devices'],
  'user.password_reset_sent': ['Password reset sent', 'send a password reset'],
  'user.sessions_revoked': ['All sessions ended', 'end all sessions', 'warning'],
  'user.tokens_revoked': ['All tokens of the user revoked', 'revoke the tokens of the user', 'warning'],
  'webhook.failed_redelivered': ['Failed deliveries sent again', 'send failed deliveries again'],
});

const small = (noun: string) => (/^[A-Z]{2}/.test(noun) ? noun : noun.charAt(0).toLowerCase() + noun.slice(1));

/** What a kind of record is called: "Client grant". */
export const nounOf = (type: string): string => nouns[type] ?? inWords(type);

/** An operation of the Management API, such as `client.secret_rotated`, in words; null for one that isn't known. */
export function operationWords(operation: string): { readonly done: string; readonly tried: string; readonly tone: Tone } | null {
  const [type = '', verb = ''] = operation.split('.');
  const found = operations[operation] ?? verbs[verb];
  if (!found) return null;
  const noun = nounOf(type);
  const several = `${small(noun).replace(/y$/, 'ie')}s`;
  const filled = (text: string) => text.replace('{One}', noun).replace('{one}', small(noun)).replace('{ones}', several);
  const [done, tried, tone = 'quiet'] = found;
  return { done: filled(done), tried: filled(tried), tone };
}
