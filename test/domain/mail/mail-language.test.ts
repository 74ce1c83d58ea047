// The order in which languages are asked for a mail (specification 15.11.2), for templates and built-in texts alike.
import { expect, test } from 'vitest';
import { mailLanguage } from '../../../src/domain/mail/mail-language.js';

test.each([
  ['the person’s own comes first', ['ja-JP', 'de', 'fr'], { templates: ['ja-JP', 'ja'], builtIn: 'ja' }],
  ['then the page’s', [null, 'de', 'fr'], { templates: ['de'], builtIn: 'de' }],
  ['then the environment’s', [null, null, 'fr'], { templates: ['fr'], builtIn: 'fr' }],
  ['English is the last', [null, null, 'sv'], { templates: ['sv', 'en'], builtIn: 'en' }],
  ['one without a built-in text serves templates', ['sv-SE', 'de', 'en'], { templates: ['sv-SE', 'sv', 'de'], builtIn: 'de' }],
  ['a tag as providers write it counts', ['pt_PT', null, 'en'], { templates: ['pt-PT', 'pt', 'pt-BR'], builtIn: 'pt-BR' }],
  ['traditional Chinese is not answered with simplified', ['zh-TW', 'ja', 'en'], { templates: ['zh-TW', 'zh', 'ja'], builtIn: 'ja' }],
  ['what is no tag is passed over', ['../../etc', '__proto__', 'x'.repeat(5000), 'de'], { templates: ['de'], builtIn: 'de' }],
])('%s', (_title, wanted, expected) => expect(mailLanguage(wanted)).toEqual(expected));
