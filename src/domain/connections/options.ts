import type { ConnectionRow } from '../../db/tables/connections.js';
import type { ApiErrorCode } from '../../lib/error-codes.js';
import { own } from '../../lib/named.js';
import { checkUrl, type NetworkPolicy } from '../../platform/fetch/guard.js';
import { type Problem, unfit } from '../refusal.js';
import { browserUrlProblem, certificateOf, countingKeys, maxCertificates, maxMetadataLength, readMetadata } from '../saml/metadata.js';
import { SamlRefusal } from '../saml/saml-refusal.js';
import { strategyOf, type StrategyName, type StrategyOption } from './strategies.js';

type Judgement = { readonly code: ApiErrorCode; readonly detail: string } | null;

const refused = (name: string, code: ApiErrorCode, detail: string): Problem => unfit(['options', name], code, detail);
const invalid = (is: boolean, detail: string): Judgement => (is ? null : { code: 'invalid_type', detail });
const isText = (value: unknown, most: number): value is string => typeof value === 'string' && value !== '' && value.length <= most;

function judgeUrl(name: string, value: unknown, policy: NetworkPolicy): Judgement {
  if (!isText(value, 2048)) return { code: 'invalid_type', detail: `"${name}" must be a URL of at most 2048 characters.` };
  const problem = name === 'idp_metadata_url' ? checkUrl(value, policy) : browserUrlProblem(value, policy);
  if (problem === null) return null;
  return { code: problem, detail: `"${name}" is not a URL that may be used here.` };
}

function judgeXml(value: unknown, policy: NetworkPolicy): Judgement {
  if (!isText(value, maxMetadataLength)) return { code: 'invalid_type', detail: 'The metadata must be XML of at most 256 KiB.' };
  try {
    readMetadata(value, policy);
    return null;
  } catch (error) {
    if (!(error instanceof SamlRefusal)) throw error;
    return { code: 'invalid_value', detail: `The metadata can not be used: ${error.message}.` };
  }
}

function judgeCertificates(value: unknown): Judgement {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxCertificates)
    return { code: 'invalid_type', detail: `The certificates must be a list of one to ${maxCertificates}.` };
  const isEach = value.every((one) => isText(one, 16_384) && certificateOf(one) !== null);
  return isEach ? null : { code: 'invalid_value', detail: `A certificate must be X.509 in PEM, with ${countingKeys}.` };
}

function judge({ name, type, choices = [] }: StrategyOption, value: unknown, policy: NetworkPolicy): Judgement {
  switch (type) {
    case 'boolean':
      return invalid(typeof value === 'boolean', `"${name}" must be true or false.`);
    case 'choice':
      return invalid(
        choices.some((choice) => choice.value === value),
        `"${name}" must be one of: ${choices.map((choice) => choice.value).join(', ')}.`,
      );
    case 'url':
      return judgeUrl(name, value, policy);
    case 'xml':
      return judgeXml(value, policy);
    case 'certificates':
      return judgeCertificates(value);
    default:
      return invalid(
        typeof value === 'string' && value.length <= (name === 'idp_entity_id' ? 1024 : 255),
        `"${name}" must be a text of at most 255 characters.`,
      );
  }
}

const byHand = ['idp_entity_id', 'idp_sso_url', 'idp_certificates'] as const;

/** A SAML connection says who the provider is in one way: by metadata at an address, by metadata as XML, or by hand. */
function samlProblems(options: Readonly<Record<string, unknown>>): Problem[] {
  const has = (name: string) => own(options, name) !== undefined;
  const ways = [has('idp_metadata_url'), has('idp_metadata_xml'), byHand.some(has)].filter(Boolean).length;
  if (ways === 0) return [refused('idp_metadata_url', 'required', 'Enter the address of the provider’s metadata, or the metadata itself.')];
  if (ways > 1) return [refused('idp_metadata_url', 'invalid_value', 'Use the metadata, or entity ID, URL and certificates: not both.')];
  const missing = byHand.some(has) ? byHand.filter((name) => !has(name)) : [];
  return missing.map((name) => refused(name, 'required', `Without metadata ${byHand.join(', ')} are needed.`));
}

/** What speaks against the options of a connection. */
export function optionProblems(
  { strategy, options: given }: Pick<ConnectionRow, 'strategy' | 'options'>,
  policy: NetworkPolicy,
): Problem[] {
  const { options } = strategyOf(strategy as StrategyName);
  const problems = Object.entries(given).flatMap(([name, value]) => {
    const option = options.find((one) => one.name === name);
    if (!option) return [refused(name, 'unknown_option', `The strategy ${strategy} has no option "${name.slice(0, 100)}".`)];
    const judgement = judge(option, value, policy);
    return judgement === null ? [] : [refused(name, judgement.code, judgement.detail)];
  });
  return [...problems, ...(strategy === 'saml' ? samlProblems(given) : [])];
}
