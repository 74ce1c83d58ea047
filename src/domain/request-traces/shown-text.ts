/** Characters of an address or a name that are kept: what somebody sends must not fill log and traces. */
const maxShownLength = 500;

/** The beginning of a text, marked where it is cut. All but visible ASCII is encoded, so that it can be seen and doesn't change the direction of text. */
export function shownText(text: string): string {
  const whole = text.length > maxShownLength ? `${text.slice(0, maxShownLength)}...` : text;
  return whole.toWellFormed().replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** An address without what may be a secret: user name and password, and the values of query and fragment. */
const withoutValues = (uri: string): string => uri.replace(/\/\/[^/?#]*@/, '//...@').replaceAll(/([?&#](?:[^=&#]*=)?)[^&#]+/g, '$1...');

/** What tokens, codes and secrets of ours and of others look like: somebody may put them into the wrong parameter. */
const secretShapes = /\b(?:at|rt|cs|ac|dc|whsec)_[\w-]{8,}|\beyJ[\w-]{8,}(?:\.[\w-]*)*|[\w-]{40,}/g;

/** A name that came with a request: bounded, and without what looks like a secret. */
export const maskedName = (name: string): string => shownText(name.slice(0, 200)).replaceAll(secretShapes, '[hidden]');

/** An address that came with a request. Its path can hold a secret too. */
export const maskedUri = (uri: string): string => withoutValues(shownText(uri)).replaceAll(secretShapes, '[hidden]');
