// A form of the dashboard as data: its sections and fields.

export type Choice = { readonly value: string; readonly label: string; readonly hint?: string | null; readonly group?: string | null };

export type FieldKind =
  | 'text'
  | 'email'
  | 'url'
  | 'password'
  | 'number'
  | 'duration'
  | 'datetime-local'
  | 'color'
  | 'textarea'
  | 'source'
  | 'lines'
  | 'json'
  | 'checkbox'
  | 'select'
  | 'checks'
  | 'radios'
  | 'hidden';

export type Field = {
  readonly kind: FieldKind;
  readonly name: string;
  readonly label: string;
  /** Its name in the API, where it has one. */
  readonly attribute?: string;
  readonly hint: string | null;
  readonly optional: boolean;
  /** Text of what is in it; for `checks` the chosen values. */
  readonly value: string;
  readonly chosen: readonly string[];
  readonly choices: readonly Choice[];
  readonly error: string | null;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Of `lines`: each is an address, a domain or a name, which scripts show as a row of its own. */
  readonly rows?: boolean | undefined;
  /** Another way to the same, beside the field: a page of ours. */
  readonly link?: { readonly label: string; readonly path: string } | undefined;
  /** Of a `duration`: its number, its unit, and the units to choose from. */
  readonly duration?: { readonly amount: string; readonly unit: string; readonly units: readonly Choice[] } | undefined;
};

export type FieldSection = {
  readonly title: string | null;
  readonly text: string | null;
  readonly fields: readonly Field[];
  readonly folded?: boolean;
};

export type FormPart = {
  readonly kind: 'form';
  readonly id: string;
  readonly title?: string | null;
  readonly text?: readonly string[];
  /** What becomes of other things when it is sent; without items a title alone. */
  readonly consequences?: readonly { readonly title: string; readonly items: readonly string[] }[];
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly sections: readonly FieldSection[];
  readonly button: { readonly label: string; readonly variant: 'primary' | 'danger' };
  readonly cancel: string | null;
  /** A long form: its buttons stay in sight, and leaving it with changes that aren't saved takes a confirmation. */
  readonly bar?: boolean;
  /** A page of ours that shows what the form would make, beside it. */
  readonly preview?: string | null;
  /** The same for texts that are too long for an address: `source` shows what is stored, and `action` takes the form and answers for the frame. */
  readonly draft?: { readonly source: string; readonly action: string } | null;
};

/** A form with a file input of its own: an image as it is, and what puts another one in its place; or any file. */
export type UploadPart = {
  readonly kind: 'upload';
  readonly id: string;
  readonly title: string;
  /** What the image stands on; null: the file is no image. */
  readonly ground: 'light' | 'dark' | null;
  /** Its address; null: there is none. */
  readonly image: string | null;
  readonly text: string | null;
  /** Media types, as file inputs take them. */
  readonly accept: string;
  readonly hint: string;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly button: string;
  readonly isRemovable: boolean;
  readonly error: string | null;
};
