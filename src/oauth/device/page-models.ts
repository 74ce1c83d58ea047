import type { ConsentPage, FormPage } from '../../http/pages/page-models.js';

/** `values`: user_code. Posts `user_code` to `action`. */
export interface DevicePage extends FormPage {
  user: ConsentPage['user'];
  action: string;
}

/** Posts `decision` allow or deny, and `hidden`, to `action`. */
export interface DeviceApprovalPage extends FormPage {
  client: ConsentPage['client'];
  unverified: ConsentPage['unverified'];
  user: ConsentPage['user'];
  /** What the organization is called that the tokens are for; null: for none. */
  organization: string | null;
  scopes: ConsentPage['scopes'];
  details: ConsentPage['details'];
  /** As the device shows it. */
  user_code: string;
  /** Where and when the device asked. */
  device: {
    ip_address: string | null;
    /** Whether that is the network of this browser. */
    same_network: boolean;
    /** ISO 8601 */
    requested_at: string;
  };
  action: string;
  hidden: Record<string, string>;
}

declare module '../../http/pages/page-models.js' {
  interface PageModels {
    'oauth/device': DevicePage;
    'oauth/device-approval': DeviceApprovalPage;
  }
}
