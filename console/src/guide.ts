/**
 * The address of a page of the guide, which the server serves beside the console: `toGuide('keys', 'api-keys')`. The page is the
 * name of its file in docs/ without `.md`; a test finds pages and headings that do not exist.
 */
export const toGuide = (page = 'index', heading?: string): string =>
  `/guide/${page}.html${heading === undefined ? '' : `#${heading}`}`
