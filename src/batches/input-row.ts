/** One row of an input: its fields, or why it cannot be read. `line` is where it begins. */
export type InputRow =
  | { readonly line: number; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly line: number; readonly problem: string }

/** A longer row is refused, so that no input can exhaust the memory. As long as the body of a single verification. */
export const LONGEST_ROW_BYTES = 16 * 1024

export const TOO_LONG = 'The row is longer than 16 KiB.'
export const NOT_UTF8 = 'The row is not UTF-8 text.'
