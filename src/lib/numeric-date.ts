/** Whether the value of a claim is a NumericDate: seconds since 1970, with or without a fraction (RFC 7519 2). */
export const isNumericDate = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;
