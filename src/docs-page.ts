/** Placeholder until the reference page is drawn. */
export const toDocsPage = (openApi: Record<string, unknown>): string =>
  `<!doctype html><pre>${JSON.stringify(openApi)}</pre>`
