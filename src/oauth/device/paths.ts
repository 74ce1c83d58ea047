/** Where a person types the code that a device shows: short, for it is typed as well. */
export const devicePath = '/device';

/** Where the page posts the person's answer to. */
export const deviceAnswerPath = '/device/answer';
