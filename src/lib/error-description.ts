/** A text as it may stand in `error_description`, in an answer or a challenge: visible ASCII without what would end the quotes (RFC 6749 5.2, RFC 6750 3). */
export const errorDescription = (text: string): string => text.replaceAll(/["\\’]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');
