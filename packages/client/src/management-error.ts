/** One refusal of the Management API (JSON:API 1.1, "Errors"). */
export type ApiError = {
  /** The request id. */
  readonly id: string;
  readonly status: string;
  /** Stable; what programs look at. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string; readonly header?: string };
};

/** What the Management API refused. */
export class ManagementError extends Error {
  override readonly name = 'ManagementError';

  constructor(
    readonly status: number,
    readonly errors: readonly ApiError[],
  ) {
    super(errors.map(({ code, detail }) => `${detail} (${code})`).join('\n') || `the service answered ${status}`);
  }

  /** The code of the first refusal. */
  get code(): string | null {
    return this.errors[0]?.code ?? null;
  }

  get requestId(): string | null {
    return this.errors[0]?.id ?? null;
  }
}

/** What a call answers, either way. */
export type Answer<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response };

/** The document of an answer; undefined where there is none (204). @throws {ManagementError} */
export async function unwrap<Data>(answer: Answer<Data> | Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await answer;
  if (response.ok) return data as Data;
  throw new ManagementError(response.status, (error as { errors?: ApiError[] } | undefined)?.errors ?? []);
}
