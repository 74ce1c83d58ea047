/** Characters of an address or a name that are kept: what somebody sends must not fill log and traces. */
const toldLength = 500;

/** As much of a text as is told; what is left out is seen to be. All but visible ASCII is shown encoded, so that it can be seen and turns no text around. */
export function toldText(text: string): string {
  const whole = text.length > toldLength ? `${text.slice(0, toldLength)}...` : text;
  return whole.toWellFormed().replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** An address without what may be a secret: user name and password, and the values of query and fragment. */
const withoutValues = (uri: string): string => uri.replace(/\/\/[^/?#]*@/, '//...@').replaceAll(/([?&#](?:[^=&#]*=)?)[^&#]+/g, '$1...');

/** What tokens, codes and secrets of ours and of others look like: somebody may put them into the wrong parameter. */
const secretShapes = /\b(?:at|rt|cs|ac|dc|whsec)_[\w-]{8,}|\beyJ[\w-]{8,}(?:\.[\w-]*)*|[\w-]{40,}/g;

/** A name that came with a request: bounded, and without what looks like a secret. */
export const toldName = (name: string): string => toldText(name.slice(0, 200)).replaceAll(secretShapes, '[hidden]');

/** An address that came with a request. Its path can hold a secret too. */
export const toldUri = (uri: string): string => withoutValues(toldText(uri)).replaceAll(secretShapes, '[hidden]');
