/** Where the page posts the person's answer to. */
export const deviceAnswerPath = '/device/answer';
