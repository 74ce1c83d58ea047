import type { Config } from '../../config.js';

/** Where spans are sent, by OTLP over HTTP (`http/protobuf`). */
export type Collector = NonNullable<Config['collector']>;
