import type { Request, Response } from 'express';
import type { DashboardPage, Part } from './page-parts.js';

export type Page = {
  readonly title: string;
  /** Left out: the title. */
  readonly document_title?: string;
  readonly parts: readonly Part[];
} & Partial<Pick<DashboardPage, 'crumbs' | 'lead' | 'state' | 'links' | 'posts' | 'tabs' | 'notice' | 'errors' | 'labels'>>;

/** Answers with a page in the frame of the dashboard; 200 unless told. */
export type Render = (req: Request, res: Response, page: Page, status?: number) => void;
