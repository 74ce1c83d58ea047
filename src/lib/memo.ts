/** A value that is made when it is first asked for. */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null;
  return () => (made ??= { value: make() }).value;
}

/**
 * A pure function that remembers its answers by their key: a promise however it ends, but nothing of a call that throws.
 * @param make is handed `about` too, which tells what the key stands for
 * @param most so many are remembered; then the oldest goes
 */
export function memo<Key, Value, About = void>(
  make: (key: Key, about: About) => Value,
  most = Infinity,
): (key: Key, about: About) => Value {
  const made = new Map<Key, Value>();
  return (key, about) => {
    let value = made.get(key);
    if (value === undefined) {
      value = make(key, about);
      if (made.size >= most) made.delete(made.keys().next().value as Key);
      made.set(key, value);
    }
    return value;
  };
}

/** What belongs to an object, made when it is first asked for, and gone with the object. */
export function ofEach<Owner extends object, Value, About = void>(
  make: (owner: Owner, about: About) => Value,
): (owner: Owner, about: About) => Value {
  const made = new WeakMap<Owner, Value>();
  return (owner, about) => {
    let value = made.get(owner);
    if (value === undefined) made.set(owner, (value = make(owner, about)));
    return value;
  };
}
