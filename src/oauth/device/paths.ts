export const deviceAnswerPath = '/device/answer';
