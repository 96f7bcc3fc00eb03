/**
 * What is said wherever data of `tabbat demo` is shown. The mark is a fact in the table meta, so that it is in every copy and every
 * backup of the database, and no setting removes it.
 */
export const DEMO_NOTICE =
  'This is a demonstration: people, keys, vendors and all figures are synthetic. Nothing here is real.'

/** On every response of a server with such data. */
export const DEMO_HEADER: readonly string[] = ['tabbat-demo', 'true']
