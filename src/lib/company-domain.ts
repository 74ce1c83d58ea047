import type * as PublicSuffixes from 'tldts';
import { onDemand } from './on-demand.js';

/** Where anybody gets an address: the large providers, by the domains that they give out. */
const mailProviders: ReadonlySet<string> = new Set(
  `gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com rocketmail.com aol.com icloud.com me.com mac.com proton.me
   protonmail.com pm.me tutanota.com tuta.io fastmail.com hey.com zoho.com mail.com gmx.com gmx.net gmx.de gmx.at gmx.ch web.de t-online.de freenet.de
   mailbox.org posteo.de orange.fr free.fr laposte.net wanadoo.fr sfr.fr libero.it virgilio.it tiscali.it alice.it seznam.cz wp.pl onet.pl o2.pl interia.pl
   mail.ru bk.ru inbox.ru list.ru yandex.ru yandex.com ya.ru rambler.ru ukr.net i.ua qq.com foxmail.com 163.com 126.com yeah.net sina.com sohu.com aliyun.com
   naver.com hanmail.net daum.net rediffmail.com uol.com.br bol.com.br terra.com.br comcast.net verizon.net att.net sbcglobal.net cox.net bellsouth.net
   btinternet.com sky.com virginmedia.com ntlworld.com bigpond.com optusnet.com.au shaw.ca rogers.com sympatico.ca hotmail.co.uk hotmail.fr hotmail.de
   live.co.uk live.fr yahoo.co.uk yahoo.co.jp yahoo.fr yahoo.de yahoo.com.br yahoo.co.in docomo.ne.jp ezweb.ne.jp softbank.ne.jp walla.co.il`.split(
    /\s+/,
  ),
);

/** Why a domain can't be one company's: it isn't a name, everybody registers below it (Public Suffix List), or everybody gets addresses there. */
export type CompanyDomainProblem = 'not a domain' | 'public suffix' | 'mail provider';

/** Null: it can be the domain of one company. Takes a lower-case ASCII name. */
export function companyDomainProblem(name: string): CompanyDomainProblem | null {
  // The list is 8 MiB, which a process without an organization's domain doesn't need.
  const { parse } = onDemand('tldts') as typeof PublicSuffixes;
  const { isIp, domain } = parse(name, { allowPrivateDomains: true });
  if (isIp || !/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/.test(name)) return 'not a domain';
  if (domain === null) return 'public suffix';
  return mailProviders.has(name) ? 'mail provider' : null;
}
