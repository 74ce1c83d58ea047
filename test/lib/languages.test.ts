// The texts of every language are whole: nothing missing, nothing too much, nothing that a view would have to write by itself.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser';
import { describe, expect, test } from 'vitest';
import { fullName, isLanguage, languages, languageTags, lookUp } from '../../src/lib/languages/languages.js';
import { catalogueOf, format, formatToPieces, message, waitMessage, type MessageKey } from '../../src/lib/languages/messages.js';

const english = catalogueOf('en');
/** What `npm run texts` has put in of English, by language: a branch may have it, a release has none. */
const untranslated = JSON.parse(readFileSync('data/languages/untranslated.json', 'utf8')) as Record<string, Record<string, string>>;
const keys = Object.keys(english) as MessageKey[];

type Shape = { readonly names: readonly string[]; readonly plurals: readonly (readonly string[])[]; readonly offenders: readonly string[] };

/** The placeholders of a text, the categories of each of its plurals, and whatever else is in it. */
function shapeOf(elements: readonly MessageFormatElement[]): Shape {
  const shapes = elements.map((element): Shape => {
    switch (element.type) {
      case TYPE.literal:
      case TYPE.pound:
        return { names: [], plurals: [], offenders: [] };
      case TYPE.argument:
        return { names: [element.value], plurals: [], offenders: [] };
      case TYPE.plural: {
        const inner = Object.values(element.options).map(({ value }) => shapeOf(value));
        const own = { names: [element.value], plurals: [Object.keys(element.options)], offenders: [] };
        return merge([own, ...inner]);
      }
      default:
        return { names: [], plurals: [], offenders: [String(element.type)] };
    }
  });
  return merge(shapes);
}

const merge = (shapes: readonly Shape[]): Shape => ({
  names: [...new Set(shapes.flatMap(({ names }) => names))].toSorted(),
  plurals: shapes.flatMap(({ plurals }) => plurals),
  offenders: shapes.flatMap(({ offenders }) => offenders),
});

const shape = (text: string) => shapeOf(parse(text, { ignoreTag: true }));

/** The categories that whole numbers fall into. */
function categoriesOf(tag: string): Set<string> {
  const rules = new Intl.PluralRules(tag);
  return new Set(Array.from({ length: 300 }, (_, count) => rules.select(count)));
}

describe.each(languageTags)('%s', (tag) => {
  const catalogue = catalogueOf(tag);
  const translated = keys.filter((key) => untranslated[tag]?.[key] === undefined);

  test('has the texts of English, in its order, none of them empty', () => {
    expect(Object.keys(catalogue), 'npm run texts puts in what is missing').toEqual(keys);
    expect(Object.entries(untranslated[tag] ?? {}).filter(([key, text]) => catalogue[key as MessageKey] !== text)).toEqual([]);
    expect(keys.filter((key) => catalogue[key].trim() !== catalogue[key] || catalogue[key] === '')).toEqual([]);
  });

  test('has the placeholders of English, and each plural that its numbers need', () => {
    const needed = categoriesOf(tag);
    const wrong = translated.flatMap((key) => {
      const [own, wanted] = [shape(catalogue[key]), shape(english[key])];
      const missing = own.plurals.flatMap((given) => [...needed, 'other'].filter((category) => !given.includes(category)));
      const same = own.names.join() === wanted.names.join() && own.plurals.length === wanted.plurals.length;
      return same && missing.length === 0 && own.offenders.length === 0 ? [] : [`${key}: ${missing.join() || 'placeholders'}`];
    });
    expect(wrong).toEqual([]);
  });

  test('names a button by what is written on it, and more (WCAG 2.2, 2.5.3)', () => {
    const lower = (key: string) => catalogue[key as MessageKey].toLocaleLowerCase(tag);
    const pairs = translated.flatMap((key) => {
      const visible = key.startsWith('script.') ? key.replace('_password', '') : key.replace('_named', '');
      return visible === key || !translated.includes(visible as MessageKey) ? [] : [[key, visible] as const];
    });
    expect(pairs.length).toBeGreaterThan(10);
    expect(pairs.filter(([named, visible]) => !lower(named).includes(lower(visible))).map(([named]) => named)).toEqual([]);
  });

  test('is plain text: no markup, no entity, no control character', () =>
    expect(keys.filter((key) => /[<>]|&\w+;|\p{Cc}/u.test(catalogue[key]))).toEqual([]));
});

type File = { readonly path: string; readonly text: string };

const fileOf = (path: string): File => ({ path, text: readFileSync(path, 'utf8') });
const filesIn = (folder: string, ending: string): File[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => fileOf(join(folder, name)));

const views = [
  ...['account', 'oauth', 'partials', 'setup', 'sso'].flatMap((folder) => filesIn(`views/${folder}`, '.ejs')),
  fileOf('views/error.ejs'),
];
const sources = filesIn('src', '.ts');

test('no text is unused, and none is asked for that there isn’t', () => {
  const all = [...views, ...sources].map(({ text }) => text).join('\n');
  const written = new Set([...all.matchAll(/['`]([a-z_]+\.[a-z0-9_]+)['`]/g)].map(([, key]) => key));
  // Keys that are put together from a code, a name of the profile, or what is known of a row.
  const composed =
    /^(error|done|script|scope)\.|^profile\.|^(identity|methods)\.(email_)?(kind_)?(since|since_used|last_used|not_used)$|^common\.notice_|^setup\.(?:(?:domains|connection|directory)(?:_about)?|record_not_found|record_mismatch|dns_error)$/;
  expect(keys.filter((key) => !written.has(key) && !composed.test(key))).toEqual([]);
  const asked = [
    ...views
      .map(({ text }) => text)
      .join('\n')
      .matchAll(/page\.(?:t|rich)\(\s*'([^']+)'/g),
  ].map(([, key]) => key as string);
  expect(asked.filter((key) => !Object.hasOwn(english, key))).toEqual([]);
});

test('no view that people who sign in see says a word by itself', () => {
  const operators = ['views/partials/dashboard-', 'views/sso/test-result.ejs'];
  const found = views
    .filter(({ path }) => !operators.some((prefix) => path.startsWith(prefix)))
    .flatMap(({ path, text }) => {
      // What a template computes, tags and entities go; what is left would be shown as it is.
      const shown = text
        .replaceAll(/(<\/?)<%=[\s\S]*?%>/g, '$1x')
        .replaceAll(/<%[\s\S]*?%>/g, '\u0001')
        .replaceAll(/<!?\/?[a-z][^<>]*>/gi, '\u0001');
      const literal = shown.split('\u0001').filter((piece) => /\p{L}{2,}/u.test(piece));
      const attributes = [...text.matchAll(/(?:aria-label|alt|title|placeholder)="([^"<%]*\p{L}[^"<%]*)"/gu)].map(
        ([, said]) => said as string,
      );
      return [...literal, ...attributes].map((piece) => `${path}: ${piece.trim().slice(0, 60)}`);
    });
  expect(found).toEqual([]);
});

describe('lookup (RFC 4647 3.4)', () => {
  test.each([
    ['de-AT', 'de'],
    ['pt-PT', 'pt-BR'],
    ['zh-Hans-SG', 'zh-CN'],
    ['iw', 'he'],
    ['EN-gb', 'en'],
  ])('%s ends at %s', (range, tag) => expect(lookUp([range])).toBe(tag));

  test('takes the first range that leads anywhere', () => expect(lookUp(['xx', 'fr-CA', 'de'])).toBe('fr'));

  test('traditional characters are not answered with simplified ones', () => {
    expect(lookUp(['zh-TW'])).toBeNull();
    expect(lookUp(['zh-HK', 'ja'])).toBe('ja');
  });

  test('paths, names of prototypes and other oddities are no language (attack 39.780)', () => {
    const odd = ['../../etc/passwd', '__proto__', 'constructor', 'toString', '*', '', 'en\0', 'x'.repeat(4000), 'de_DE', 'und', '<b>'];
    expect(odd.map((range) => lookUp([range]))).toEqual(odd.map(() => null));
    expect(odd.filter((tag) => isLanguage(tag))).toEqual([]);
    expect(lookUp([...Array.from({ length: 1000 }, () => 'xx'), 'de'])).toBeNull();
  });
});

describe('a text', () => {
  test('counts in the language', () =>
    expect([1, 2, 5, 22].map((count) => format('uk', 'refusal.attempts_left', { count }))).toEqual([
      'Залишилася 1 спроба.',
      'Залишилося 2 спроби.',
      'Залишилося 5 спроб.',
      'Залишилося 22 спроби.',
    ]));

  test('says a wait in minutes from a minute and a half on', () => {
    const said = (seconds: number) => {
      const { key, values } = waitMessage('requests', seconds);
      return [format('en', key, values), format('uk', key, values)];
    };
    expect(said(264)).toEqual(['Too many requests. Try again in 5 minutes.', 'Забагато запитів. Спробуйте ще раз через 5 хвилин.']);
    expect(said(1)).toEqual(['Too many requests. Try again in 1 second.', 'Забагато запитів. Спробуйте ще раз через 1 секунду.']);
  });

  test('holds a message in the same language', () => {
    const values = { first: message('refusal.app_code_wrong'), second: message('refusal.attempts_left', { count: 1 }) };
    expect(format('de', 'common.sentences', values)).toMatch(/^Der Code .* Ein Versuch bleibt\.$/);
  });

  test('keeps a value apart where it runs the other way', () => {
    expect(format('ar', 'logout.asked', { client: 'Acme Notes' })).toContain('\u2068Acme Notes\u2069');
    expect(languages.ar.dir).toBe('rtl');
  });

  test('says the family name first where the language does', () => {
    const names = { first_name: '太郎', last_name: '山田' };
    const order = (['ja', 'ko', 'zh-CN', 'de'] as const).map((language) => fullName(language, names));
    expect(order).toEqual(['山田 太郎', '山田 太郎', '山田 太郎', '太郎 山田']);
    expect(fullName('ja', { first_name: null, last_name: null })).toBe('');
  });

  test('comes in pieces, markup in a value stays a value', () => {
    const pieces = formatToPieces('de', 'logout.signed_in_as', { email: { strong: '<b>' } });
    expect(pieces).toEqual(['Sie sind als ', { strong: '<b>' }, ' angemeldet.']);
  });
});
