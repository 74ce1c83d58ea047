import { groupBy, type Delivered, type History, type Operation, type Violation } from '../history.js';

const rule = 'R5 each event is delivered at least once, with one event_id and the same bytes';

const nameOf = ({ event_type, record, value }: Pick<Delivered, 'event_type' | 'record' | 'value'>) =>
  `${event_type} of ${record} "${value}"`;

const differ = (deliveries: readonly Operation[], key: (delivered: Delivered) => string): readonly Operation[] | null => {
  const [first] = deliveries;
  const other = deliveries.find((one) => one.delivers && first?.delivers && key(one.delivers) !== key(first.delivers));
  return first && other ? [first, other] : null;
};

/** R5 (specification 7.2.4, 7.5.2): acknowledged writes were delivered and answered 2xx, refused ones never, and repetitions are alike. */
export function checkDeliveries(history: History): Violation[] {
  const deliveries = history.filter(({ delivers }) => delivers !== undefined);
  const byName = groupBy(deliveries, ({ delivers }) => delivers && nameOf(delivers));
  const writes = groupBy(history, ({ writes: one }) =>
    one && one.value !== null && one.event_type !== null ? nameOf({ ...one, event_type: one.event_type, value: one.value }) : undefined,
  );
  const violations: Violation[] = [];
  for (const [name, tries] of writes) {
    const acknowledged = tries.find(({ outcome }) => outcome === 'ok');
    const arrived = byName.get(name)?.some(({ outcome }) => outcome === 'ok') ?? false;
    if (acknowledged && !arrived)
      violations.push({ rule, subject: name, says: 'never arrived', operations: [acknowledged, ...(byName.get(name) ?? [])] });
  }
  for (const [name, arrived] of byName) {
    const tries = writes.get(name) ?? [];
    if (tries.every(({ outcome }) => outcome === 'refused'))
      violations.push({ rule, subject: name, says: 'arrived, but was never written', operations: [...tries, ...arrived.slice(0, 1)] });
    const twins = differ(arrived, ({ event_id }) => event_id);
    if (twins) violations.push({ rule, subject: name, says: 'has two event ids', operations: twins });
  }
  for (const [event_id, arrived] of groupBy(deliveries, ({ delivers }) => delivers?.event_id)) {
    const different = differ(arrived, ({ bytes }) => bytes);
    if (different) violations.push({ rule, subject: event_id, says: 'came with different bytes', operations: different });
  }
  return violations;
}
