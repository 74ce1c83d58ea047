import { format, type Message } from './messages.js';

/** The message in English: what logs and JSON say, whatever language a page would be in. */
export const inEnglish = ({ key, values }: Message): string => format('en', key, values);
